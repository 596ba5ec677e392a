//! Materials and who may touch whom.

use crate::body::BodyId;

/// Index of a material in [`ContactSettings::materials`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MaterialId(pub u32);

/// Index of a group in [`ContactSettings::groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// Friction and restitution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactValues {
    /// Coefficient of sliding friction μ.
    pub friction: f64,
    /// Coefficient of static friction.
    pub static_friction: f64,
    /// Restitution ε: 0 plastic, 1 elastic.
    pub restitution: f64,
    /// Rolling resistance, m.
    pub rolling_friction: f64,
    /// Resistance to turning on the spot, m: its torque is at most this times the normal force.
    pub torsional_friction: f64,
}

/// What bodies without a material are made of: friction 0.5, no bounce.
impl Default for ContactValues {
    fn default() -> Self {
        ContactValues {
            friction: 0.5,
            static_friction: 0.5,
            restitution: 0.0,
            rolling_friction: 0.0,
            torsional_friction: 0.0,
        }
    }
}

/// A material.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Unique name.
    pub name: String,
    /// Its values against itself.
    pub values: ContactValues,
    /// Colour for viewers, red, green, blue from 0 to 1.
    pub color: Option<[f64; 3]>,
}

/// A body or a group of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// One body.
    Body(BodyId),
    /// All bodies of a group.
    Group(GroupId),
}

/// How a body takes part in contact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyContact {
    /// Its shapes touch others. Asked for by `collide = true` or a material.
    pub collide: bool,
    /// Its material.
    pub material: Option<MaterialId>,
    /// The groups it belongs to.
    pub groups: Vec<GroupId>,
}

/// Everything the file says about contact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactSettings {
    /// Materials.
    pub materials: Vec<Material>,
    /// Values of pairs that differ from the rule of [`ContactSettings::values`].
    pub pairs: Vec<([MaterialId; 2], ContactValues)>,
    /// Names of the groups.
    pub groups: Vec<String>,
    /// Who does not touch whom.
    pub ignored: Vec<[Party; 2]>,
}

impl ContactSettings {
    /// Friction and restitution between two materials (`None`: the default one).
    ///
    /// Their own pair if the file gives one; else the geometric mean of the frictions and the larger restitution.
    pub fn values(&self, a: Option<MaterialId>, b: Option<MaterialId>) -> ContactValues {
        if let (Some(a), Some(b)) = (a, b)
            && let Some((_, values)) =
                self.pairs.iter().find(|(pair, _)| *pair == [a, b] || *pair == [b, a])
        {
            return *values;
        }
        let of = |id: Option<MaterialId>| {
            id.and_then(|id| self.materials.get(id.0 as usize))
                .map(|m| m.values)
                .unwrap_or_default()
        };
        let (a, b) = (of(a), of(b));
        ContactValues {
            friction: (a.friction * b.friction).sqrt(),
            static_friction: (a.static_friction * b.static_friction).sqrt(),
            restitution: a.restitution.max(b.restitution),
            rolling_friction: a.rolling_friction.max(b.rolling_friction),
            torsional_friction: a.torsional_friction.max(b.torsional_friction),
        }
    }
}
