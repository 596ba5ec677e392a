//! Who may touch whom.

use gelenk_model::body::BodyId;
use gelenk_model::contact::Party;
use gelenk_model::joint::JointKind;
use gelenk_model::model::Model;
use rustc_hash::FxHashSet;

/// The rules of a model about pairs of bodies.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    fixed: Vec<bool>,
    /// Bodies that are welded together have the same number.
    rigid: Vec<u32>,
    /// Pairs of such numbers that a joint connects, the smaller first.
    joined: FxHashSet<(u32, u32)>,
    /// The same of all joints, also of those whose bodies may touch.
    linked: FxHashSet<(u32, u32)>,
    /// Pairs of bodies that the file tells apart, the smaller first.
    ignored: FxHashSet<(u32, u32)>,
}

impl Filter {
    /// Reads the rules; `active` tells which joints are there (all, if it is shorter).
    pub(crate) fn new(model: &Model, active: &[bool]) -> Self {
        let n = model.n_bodies();
        let mut rigid: Vec<u32> = (0..n).map(crate::solid::index).collect();
        let there = |j: usize| active.get(j).copied().unwrap_or(true);
        let joints = || model.joints.iter().enumerate().filter(|(j, _)| there(*j)).map(|(_, j)| j);
        for joint in joints().filter(|joint| matches!(joint.kind, JointKind::Fixed(_))) {
            let [x, y] = joint.bodies.map(|b| root(&mut rigid, b.0));
            rigid[x.max(y) as usize] = x.min(y);
        }
        for i in 0..n {
            rigid[i] = root(&mut rigid, crate::solid::index(i));
        }
        let ends = |joint: &gelenk_model::joint::Joint| {
            let [x, y] = joint.bodies.map(|b| rigid[b.index()]);
            (x.min(y), x.max(y))
        };
        let joined = joints().filter(|joint| !joint.properties.collide).map(ends).collect();
        let still = |b: u32| model.bodies[b as usize].fixed;
        let linked = joints()
            .map(|joint| {
                let [x, y] = joint
                    .bodies
                    .map(|b| if still(b.0) { BodyId::WORLD.0 } else { rigid[b.index()] });
                (x.min(y), x.max(y))
            })
            .collect();
        let members = |party: &Party| -> Vec<u32> {
            match party {
                Party::Body(BodyId(body)) => vec![*body],
                Party::Group(group) => (0..)
                    .zip(&model.bodies)
                    .filter(|(_, body)| body.contact.groups.contains(group))
                    .map(|(i, _)| i)
                    .collect(),
            }
        };
        let mut ignored = FxHashSet::default();
        for [a, b] in &model.contact.ignored {
            let second = members(b);
            for x in members(a) {
                ignored.extend(second.iter().map(|&y| (x.min(y), x.max(y))));
            }
        }
        let fixed = model.bodies.iter().map(|b| b.fixed).collect();
        Filter { fixed, rigid, joined, linked, ignored }
    }

    /// Whether a joint connects two bodies, or what they are welded to; all that is held in space is one.
    pub(crate) fn links(&self, a: usize, b: usize) -> bool {
        let [x, y] = [a, b].map(|i| if self.fixed[i] { BodyId::WORLD.0 } else { self.rigid[i] });
        self.linked.contains(&(x.min(y), x.max(y)))
    }

    /// Whether two bodies may touch.
    pub(crate) fn allows(&self, a: usize, b: usize) -> bool {
        let pair = |x: u32, y: u32| (x.min(y), x.max(y));
        let (x, y) = (self.rigid[a], self.rigid[b]);
        let one = x == y || self.fixed[a] && self.fixed[b];
        let ignored = pair(crate::solid::index(a), crate::solid::index(b));
        !one && !self.joined.contains(&pair(x, y)) && !self.ignored.contains(&ignored)
    }
}

/// The smallest member of the set of `i`; halves the path on its way.
fn root(parent: &mut [u32], mut i: u32) -> u32 {
    while parent[i as usize] != i {
        parent[i as usize] = parent[parent[i as usize] as usize];
        i = parent[i as usize];
    }
    i
}
