//! Which joints carry the tree, and which are cut.
//!
//! Every joint that can be written as a chain of turns and slides may carry; of all trees the one is taken whose joints leave
//! the fewest freedoms, so that there are few coordinates and few closure conditions. Joints along whose coordinates something
//! acts carry before others, since a cut joint has no coordinate.

use gelenk_model::description::Track;
use gelenk_model::{BodyId, BodyKind, Loaded};

/// A joint that carries a body, or a body that moves freely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// The joint of that index, from its first body to its second (`false`) or back (`true`).
    Joint(usize, bool),
    /// Free in the world.
    Free,
}

/// The tree: bodies in an order in which parents come first, each with its parent and what carries it; and the cut joints.
pub(crate) struct Plan {
    pub(crate) bodies: Vec<(usize, usize, Carrier)>,
    pub(crate) cut: Vec<usize>,
}

/// Freedoms that a joint leaves to a carried body; `None` if it cannot carry.
fn freedoms(loaded: &Loaded, joint: usize) -> Option<usize> {
    let model = &loaded.model;
    let is_point = |id: BodyId| model.bodies[id.index()].kind == BodyKind::Point;
    let [a, b] = model.joints[joint].bodies;
    let point = usize::from(is_point(a) || is_point(b));
    let turning = 3 - 3 * point;
    Some(match model.joints[joint].kind.type_name() {
        "fixed" => 0,
        "hinge" | "slider" | "screw" => 1,
        "universal" | "cylindrical" => 2,
        "planar" | "translation" => 3,
        "ball" => turning,
        "rail" => 1 + turning,
        "plane-point" | "distance" => 2 + turning,
        "curve" if matches!(loaded.description.joints[joint].track, Some(Track::Curve { .. })) => {
            1 + turning
        }
        _ => return None,
    })
}

/// Whether a joint carries in this direction: what glides on a rail or curve hangs on the body that has it.
fn carries(loaded: &Loaded, joint: usize, reversed: bool) -> bool {
    let model = &loaded.model;
    let parent = model.joints[joint].bodies[usize::from(reversed)];
    let parent_is_point = model.bodies[parent.index()].kind == BodyKind::Point;
    match model.joints[joint].kind.type_name() {
        "rail" | "plane-point" | "curve" => !reversed && !parent_is_point,
        "ball" => !parent_is_point,
        _ => true,
    }
}

pub(crate) fn plan(loaded: &Loaded) -> Plan {
    let model = &loaded.model;
    let n = model.bodies.len();
    let mut acted = vec![false; model.joints.len()];
    for force in &model.forces {
        if let Some(id) = force.kind.joint() {
            acted[id.index()] = true;
        }
    }
    for tie in &loaded.description.ties {
        for (id, _, _) in &tie.terms {
            acted[id.index()] = true;
        }
    }
    for (_, state) in &loaded.description.states {
        if let gelenk_model::signal::StateRef::Coordinate(id, _)
        | gelenk_model::signal::StateRef::CoordinateRate(id, _) = state
        {
            acted[id.index()] = true;
        }
    }
    let mut placed: Vec<bool> = model.bodies.iter().map(|b| b.fixed).collect();
    let mut used = vec![false; model.joints.len()];
    let mut bodies: Vec<(usize, usize, Carrier)> = Vec::new();
    let weight = |joint: usize| freedoms(loaded, joint).map(|f| 2 * f + usize::from(!acted[joint]));
    loop {
        // The cheapest joint from what stands to what does not.
        let mut best: Option<(usize, usize, bool)> = None;
        for (i, joint) in model.joints.iter().enumerate() {
            let Some(w) = weight(i) else { continue };
            let [a, b] = joint.bodies.map(BodyId::index);
            let reversed = match (placed[a], placed[b]) {
                (true, false) => false,
                (false, true) => true,
                _ => continue,
            };
            if carries(loaded, i, reversed) && best.is_none_or(|(least, _, _)| w < least) {
                best = Some((w, i, reversed));
            }
        }
        if let Some((w, i, reversed)) = best
            && w < 2 * 6
        {
            let [a, b] = model.joints[i].bodies.map(BodyId::index);
            let (parent, child) = if reversed { (b, a) } else { (a, b) };
            placed[child] = true;
            used[i] = true;
            bodies.push((child, parent, Carrier::Joint(i, reversed)));
            continue;
        }
        let Some(free) = (0..n).find(|i| !placed[*i]) else { break };
        placed[free] = true;
        bodies.push((free, 0, Carrier::Free));
    }
    let cut = (0..model.joints.len()).filter(|i| !used[*i]).collect();
    Plan { bodies, cut }
}
