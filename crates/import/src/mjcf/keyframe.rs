//! Keyframes: where a model starts.

use gelenk_model::math::{Quat, Vec3};
use nalgebra as na;

use super::Reader;
use crate::mass::Pose;
use crate::tree::{Freedom, Joint};
use crate::xml::Element;

impl Reader<'_> {
    /// Takes the keyframe that is asked for; or the first, where the drawn pose is outside of the limits and it is not.
    pub(super) fn keyframes(&mut self, root: &Element) {
        let keys: Vec<&Element> =
            root.all("keyframe").flat_map(|section| section.all("key")).collect();
        if let Some(wanted) = self.context.options.keyframe.clone() {
            if wanted == "-" {
                return;
            }
            let found = keys.iter().find(|key| key.text("name") == Some(wanted.as_str()));
            let Some(key) = found else {
                let names: Vec<&str> = keys.iter().filter_map(|key| key.text("name")).collect();
                let message = format!("there is no keyframe `{wanted}`");
                let help = if names.is_empty() {
                    "the file has none with a name".to_owned()
                } else {
                    format!("the file has {}", names.join(", "))
                };
                self.context.error("unknown-keyframe", "keyframe", root.span, message, help);
                return;
            };
            self.take(key);
            return;
        }
        let Some(first) = keys.first() else { return };
        let name = first.text("name").unwrap_or("the first").to_owned();
        if self.violations() > 0 {
            let drawn: Vec<Vec<Joint>> =
                self.robot.links.iter().map(|link| link.joints.clone()).collect();
            let inputs = self.key_inputs.clone();
            self.take(first);
            if self.violations() == 0 {
                let text = format!(
                    "start: keyframe {name}, since the pose as drawn is outside of the limits of joints"
                );
                self.context.changed(text, &first.called(), first.span);
                return;
            }
            for (link, joints) in self.robot.links.iter_mut().zip(drawn) {
                link.joints = joints;
            }
            self.key_inputs = inputs;
        }
        let text = format!(
            "keyframes: the model starts as drawn (`gelenk import --keyframe {name}` starts there)"
        );
        self.context.dropped(text, &first.called(), first.span);
    }

    /// Joints that start outside of their limits.
    fn violations(&self) -> usize {
        let joints = self.robot.links.iter().flat_map(|link| &link.joints);
        joints
            .filter(|joint| {
                let [low, high] = joint.limits.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
                joint.start < low - 1e-9 || joint.start > high + 1e-9
            })
            .count()
    }

    fn take(&mut self, key: &Element) {
        let places: usize = self.joint_numbers(|joint| match joint.freedom {
            Freedom::Free => 7,
            Freedom::Ball => 4,
            _ => 1,
        });
        let speeds: usize = self.joint_numbers(Joint::velocities);
        let qpos = self.context.numbers(key, "qpos", places..=places);
        let qvel = self.context.numbers(key, "qvel", speeds..=speeds);
        self.key_inputs = self.context.numbers(key, "ctrl", 0..=1_000_000).unwrap_or_default();
        for (name, what) in [("act", "activations"), ("mpos", "places of mocap bodies")] {
            if key.get(name).is_some() {
                self.context.dropped(format!("{what} of keyframes"), &key.called(), key.span);
            }
        }
        let (mut q, mut v) =
            (qpos.unwrap_or_default().into_iter(), qvel.unwrap_or_default().into_iter());
        for joint in self.robot.links.iter_mut().flat_map(|link| &mut link.joints) {
            let mut next = || q.next();
            match joint.freedom {
                Freedom::Hinge | Freedom::Slide => {
                    joint.start = next().unwrap_or(joint.start);
                }
                Freedom::Ball => {
                    let list: Vec<f64> = (0..4).map_while(|_| next()).collect();
                    joint.start_turn = turn(&list).unwrap_or(joint.start_turn);
                }
                Freedom::Free => {
                    let list: Vec<f64> = (0..7).map_while(|_| next()).collect();
                    if let (7, Some(turn)) = (list.len(), list.get(3..).and_then(turn)) {
                        let x = Vec3::new(list[0], list[1], list[2]);
                        joint.start_pose = Some(Pose::from_parts(x.into(), turn));
                    }
                }
            }
            for k in 0..joint.velocities() {
                joint.rate[k] = v.next().unwrap_or(0.0);
            }
        }
    }

    fn joint_numbers(&self, of: impl Fn(&Joint) -> usize) -> usize {
        self.robot.links.iter().flat_map(|link| &link.joints).map(of).sum()
    }
}

fn turn(list: &[f64]) -> Option<Quat> {
    let [w, x, y, z] = list else { return None };
    let q = na::Quaternion::new(*w, *x, *y, *z);
    (q.norm() > 1e-12).then(|| Quat::from_quaternion(q))
}
