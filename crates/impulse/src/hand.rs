//! A hand that pulls at a body while the model runs.

use gelenk_model::force::{Force, ForceKind, Hand};

use crate::simulation::Simulation;

impl Simulation<'_> {
    /// Lets a hand pull at a body from now on, moves it, or lets go (`None`).
    ///
    /// The simulation goes on with a model of its own, [`Simulation::model`], which has the hand as its last force. To move a
    /// hand that holds already costs nothing.
    ///
    /// ```
    /// # use gelenk_impulse::Simulation;
    /// # use gelenk_model::force::Hand;
    /// # use gelenk_model::math::{Mat3, Vec3};
    /// # use gelenk_model::{BodyDef, Builder, RunSettings};
    /// # let mut builder = Builder::new("stone");
    /// # let stone = builder.body(&BodyDef::new("stone", 1.0, Mat3::identity()));
    /// # let model = builder.finish();
    /// let settings = RunSettings::default();
    /// let mut simulation = Simulation::new(&model, &settings)?;
    /// let hand = Hand::new(&model, stone, Vec3::zeros(), Vec3::new(1.0, 0.0, 0.0), settings.step);
    /// simulation.pull(Some(hand));
    /// for _ in 0..500 {
    ///     simulation.step()?;
    /// }
    /// // It hangs on the hand: below it by m g / k.
    /// let sag = 9.81 / hand.stiffness;
    /// assert!((simulation.state().s[1] - Vec3::new(1.0, 0.0, -sag)).norm() < 1e-6);
    /// simulation.pull(None); // it falls
    /// # Ok::<(), gelenk_impulse::Failure>(())
    /// ```
    pub fn pull(&mut self, hand: Option<Hand>) {
        let is_hand = |force: &Force| matches!(force.kind, ForceKind::Hand(_));
        let place = self.model.forces.iter().position(is_hand);
        if hand.is_none() && place.is_none() {
            return;
        }
        let forces = &mut self.model.to_mut().forces;
        match (hand, place) {
            (Some(hand), Some(i)) => {
                forces[i].kind = ForceKind::Hand(hand);
                self.scratch.loads.known = false;
            }
            (Some(hand), None) => {
                forces.push(Force { name: "hand".to_owned(), kind: ForceKind::Hand(hand) });
                self.make_room();
            }
            (None, place) => {
                if let Some(i) = place {
                    forces.remove(i);
                }
                self.make_room();
            }
        }
    }
}
