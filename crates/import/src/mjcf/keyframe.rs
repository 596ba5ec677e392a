//! Keyframes: where a model starts.

use gelenk_model::math::{Quat, Vec3};
use nalgebra as na;

use super::Reader;
use crate::mass::Pose;
use crate::tree::{Freedom, Joint};
use crate::xml::Element;

impl Reader<'_> {
    /// Takes the keyframe that is asked for, or else the first.
    pub(super) fn keyframes(&mut self, root: &Element) {
        let keys: Vec<&Element> =
            root.all("keyframe").flat_map(|section| section.all("key")).collect();
        let places: usize = self.joint_numbers(|joint| match joint.freedom {
            Freedom::Free => 7,
            Freedom::Ball => 4,
            _ => 1,
        });
        let speeds: usize = self.joint_numbers(Joint::velocities);
        let inputs: usize = root.all("actuator").map(|section| section.children.len()).sum();
        for key in &keys {
            self.only_once("key", key);
            for (name, count) in [("qpos", places), ("qvel", speeds), ("ctrl", inputs)] {
                self.context.numbers(key, name, count..=count);
            }
        }
        let wanted = self.context.options.keyframe.clone();
        let key = match wanted.as_deref() {
            Some("-") => None,
            Some(wanted) => {
                let found = keys.iter().find(|key| key.text("name") == Some(wanted)).copied();
                if found.is_none() {
                    let names: Vec<&str> = keys.iter().filter_map(|key| key.text("name")).collect();
                    let message = format!("there is no keyframe `{wanted}`");
                    let help = if names.is_empty() {
                        "the file has none with a name".to_owned()
                    } else {
                        format!("the file has {}", names.join(", "))
                    };
                    self.context.error("unknown-keyframe", "keyframe", root.span, message, help);
                }
                found
            }
            None => keys.first().copied(),
        };
        let Some(key) = key else {
            if let Some(first) = keys.first() {
                let text = "keyframes: the model starts as drawn";
                self.context.dropped(text, &first.called(), first.span);
            }
            return;
        };
        let mut text = format!("start: {}", key.called());
        let others: Vec<&str> = keys
            .iter()
            .filter(|other| !std::ptr::eq(**other, key))
            .filter_map(|other| other.text("name"))
            .take(8)
            .collect();
        if !others.is_empty() {
            text = format!("{text}; `--keyframe` starts elsewhere: {}", others.join(", "));
        }
        self.context.note(crate::Fate::Kept, text, &key.called(), key.span);
        self.take(key);
    }

    fn take(&mut self, key: &Element) {
        let most = 0..=usize::MAX;
        let qpos = self.context.numbers(key, "qpos", most.clone());
        let qvel = self.context.numbers(key, "qvel", most.clone());
        self.key_inputs = self.context.numbers(key, "ctrl", most).unwrap_or_default();
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
