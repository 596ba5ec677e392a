//! Laws along the angles of hinges, in the lanes of their tree: servos with constant gains are read there, other laws one by one.

use gelenk_model::{Model, State};

use super::Lane;
use super::pattern::LANES;
use crate::drives::{Drives, PlainServo};
use crate::lanes::{F, less, mul_add};
use crate::scratch::Loads;

/// Laws of all hinges.
#[derive(Clone, Debug, Default)]
pub(super) struct Laws {
    fours: Vec<Four>,
    /// Whether each hinge with a law has one servo; constant.
    plain: bool,
}

/// Laws of four hinges.
#[derive(Clone, Debug)]
struct Four {
    axis: [Option<usize>; LANES],
    servo: [Option<PlainServo>; LANES],
    /// Gains of the servos, and what a torque turns at most; constant.
    stiffness: F,
    gain: F,
    lightest: F,
    /// τ, q̇ and −∂τ/∂q̇ at the last look, and τ and q̇ at a look before.
    force: F,
    rate: F,
    damping: F,
    read: [F; 2],
}

impl Laws {
    pub(super) fn new(lanes: &[[Lane; LANES]], drives: &Drives) -> Self {
        let four = |lanes: &[Lane; LANES]| {
            let axis = lanes.map(|lane| lane.axis);
            let servo = axis.map(|axis| axis.and_then(|axis| drives.servo(axis)));
            let number = |of: &dyn Fn(&PlainServo) -> f64| {
                F::new(servo.map(|servo| servo.as_ref().map_or(0.0, of)))
            };
            Four {
                axis,
                servo,
                stiffness: number(&|servo| servo.stiffness),
                gain: number(&|servo| servo.damping),
                lightest: F::new(axis.map(|k| k.map_or(0.0, |k| drives.axes[k].lightest))),
                force: F::ZERO,
                rate: F::ZERO,
                damping: F::ZERO,
                read: [F::ZERO; 2],
            }
        };
        let all = lanes.iter().flatten().filter_map(|lane| lane.axis).count();
        let fours: Vec<Four> = lanes.iter().map(four).collect();
        Laws { fours, plain: drives.one_servo_each() && all == drives.axes.len() }
    }

    /// Takes them as they are.
    pub(super) fn load(&mut self, drives: &Drives) {
        for four in &mut self.fours {
            let (mut force, mut rate) = ([0.0; LANES], [0.0; LANES]);
            for (k, axis) in four.axis.iter().enumerate() {
                if let Some(axis) = *axis {
                    let own = &drives.axes[axis];
                    (force[k], rate[k]) = (own.torque(true), own.rate);
                }
            }
            (four.force, four.rate) = (F::new(force), F::new(rate));
        }
    }

    /// Reads them at the rates `turning` of each group; false if one is not a finite number.
    #[inline]
    pub(super) fn read(
        &mut self,
        turning: impl Fn(usize) -> F,
        model: &Model,
        state: &State,
        loads: &mut Loads,
    ) -> bool {
        for (g, four) in self.fours.iter_mut().enumerate() {
            four.rate = turning(g);
        }
        if self.plain {
            let mut sum = F::ZERO;
            for four in &mut self.fours {
                let (mut wanted, mut rate, mut q) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
                for (k, axis) in four.axis.iter().enumerate() {
                    if let (Some(axis), Some(servo)) = (*axis, &four.servo[k]) {
                        q[k] = loads.drives.axes[axis].q;
                        (wanted[k], rate[k]) = servo.wanted(&loads.signals);
                    }
                }
                let error = F::new(wanted) - F::new(q);
                let slower = F::new(rate) - four.rate;
                four.force = four.stiffness * error + four.gain * slower;
                four.damping = four.gain;
                sum += four.force;
            }
            return sum.reduce_add().is_finite();
        }
        self.write(&mut loads.drives);
        let good = loads.drives.read_torques(model, &loads.signals, &state.active);
        for four in &mut self.fours {
            let of = |of: &dyn Fn(usize) -> f64| F::new(four.axis.map(|k| k.map_or(0.0, of)));
            let axes = &loads.drives.axes;
            let force = of(&|axis| axes[axis].torque(true));
            let damping = of(&|axis| axes[axis].damping);
            (four.force, four.damping) = (force, damping);
        }
        good
    }

    /// Notes what was read, to compare with.
    pub(super) fn note(&mut self) {
        for four in &mut self.fours {
            four.read = [four.force, four.rate];
        }
    }

    /// τ of group `g`.
    #[inline]
    pub(super) fn force(&self, g: usize) -> F {
        self.fours[g].force
    }

    /// Weights d h/2 of the dampers of group `g`, without those that would drive the motion.
    #[inline]
    pub(super) fn weight(&self, g: usize, half: f64) -> F {
        (self.fours[g].damping * F::splat(half)).max(F::ZERO)
    }

    /// How far q̇ of group `g` is from that at the last look.
    #[inline]
    pub(super) fn pull(&self, g: usize, turning: F) -> F {
        turning - self.fours[g].rate
    }

    /// Whether they are straight lines from what was noted, as [`Drives::are_straight`].
    pub(super) fn are_straight(&self, dt: f64, near: f64) -> bool {
        self.fours.iter().all(|four| {
            let [force, rate] = four.read;
            let damping = (four.damping * F::splat(dt)).simd_gt(F::ZERO) & four.damping;
            let line = less(force, damping, four.rate - rate);
            let off = (four.force - line) * four.lightest * F::splat(dt);
            off.abs().simd_le(F::splat(near)).all()
        })
    }

    /// Notes for the ledger what they exchange at an instant with q̇ before it and after it: at its start that of the last look and that there is
    /// now, at its `end` that which was noted and that of the last look.
    pub(super) fn book(&self, turning: impl Fn(usize) -> F, end: bool, drives: &mut Drives) {
        let (mut sum, mut size) = (F::ZERO, F::ZERO);
        for (g, four) in self.fours.iter().enumerate() {
            let rates = if end { four.read[1] + four.rate } else { four.rate + turning(g) };
            sum = mul_add(four.force, rates, sum);
            size += (four.force * rates).abs();
            if !self.plain {
                for (k, axis) in four.axis.iter().enumerate() {
                    if let Some(axis) = *axis {
                        drives.axes[axis].both = Some(rates.as_array()[k]);
                    }
                }
            }
        }
        drives.exchange = self.plain.then(|| [sum.reduce_add(), size.reduce_add()]);
    }

    /// Writes them back.
    pub(super) fn write(&self, drives: &mut Drives) {
        for four in &self.fours {
            for (k, axis) in four.axis.iter().enumerate() {
                let Some(axis) = *axis else { continue };
                let one = |x: &F| x.as_array()[k];
                if self.plain {
                    let found = [&four.rate, &four.force, &four.damping].map(one);
                    drives.set_servo(axis, found);
                } else {
                    drives.axes[axis].rate = one(&four.rate);
                }
            }
        }
    }
}
