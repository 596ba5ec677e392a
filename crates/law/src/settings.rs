//! All constants of the solver.

macro_rules! settings {
    ($($(#[$about:meta])* $name:ident: $kind:ty = $value:expr,)*) => {
        /// Limits and tolerances; the README lists what set each. "The set": the prototype on 6844 single steps
        /// from 31 scenes (robots standing, falling, gripping; piles, stacks, an arch, cards, ragdolls, mass ratios of 1e4).
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings { $($(#[$about])* pub $name: $kind,)* }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($name: $value,)* }
            }
        }
    };
}

settings! {
    /// Solved at this residual, m/s. 95.5 % of the set reach it; those left between it and `accept` have rows that
    /// contradict each other by that much.
    tolerance: f64 = 1e-8,
    /// Newton steps that stall below this, m/s, are left at that: no further level is tried. The same as `tolerance` for those who want the last digit.
    enough: f64 = 1e-8,
    /// The same of loops, m/s.
    enough_loops: f64 = 1e-8,
    /// Newton steps before that; fewer where one leaves more than `enough_stall` of the residual.
    enough_steps: usize = 4,
    /// See there; infinite: never fewer. 50 boxes that fall into a tray: 22 factors a step, 25 without.
    enough_stall: f64 = f64::INFINITY,
    /// Accepted without an event, m/s: 99.7 % of the set.
    accept: f64 = 1e-6,
    /// Above this, m/s, the convex answer is taken. 99.94 % of the set stay below.
    poor: f64 = 1e-4,
    /// A first Newton step is taken unless the residual is below this, m/s: a box creeps 3e-16 m in 800 steps on a
    /// slope, 3e-14 m without that step.
    exact: f64 = 1e-12,
    /// One more Newton step is taken above this, m/s, where it is mostly the last factor once more: dry friction that held a
    /// mass in place let it creep by 2.5e-9 m/s.
    fine: f64 = 1e-11,
    /// Rounding of u relative to the largest K|λ|: one unit in the last place.
    rounding: f64 = 2e-16,
    /// Proximal compliance δ of a Newton step relative to K. 225 problems: 90.7 % solved with 1e-6, 94.2 % with
    /// 1e-5, 93.3 % with 1e-4; below, rounding ε·v/δ passes the tolerance.
    newton_compliance: f64 = 1e-5,
    /// Newton steps of level 1. 4, 6, 10, 16 steps: 93.3, 93.3, 94.2, 95.1 % solved with 4.4 to 4.6 factors.
    newton_steps: usize = 8,
    /// Newton steps after an interior point. 10, 15, 20, 30 steps: 95.2, 96.5, 96.8, 98.1 % of 372 steps solved warm and
    /// 90.3, 92.5, 95.2, 97.3 % cold.
    polish_steps: usize = 20,
    /// Halvings of a Newton step at most.
    halvings: usize = 6,
    /// Part of a step's promise that the merit must fall by (Armijo).
    descent: f64 = 1e-3,
    /// A step counts as one in the null space of G if it leaves more than this part of the residual ...
    ray_stall: f64 = 0.3,
    /// ... and moves u by less than this part of it.
    ray_still: f64 = 0.5,
    /// Rays are followed at residuals below this, m/s.
    ray_below: f64 = 1e-3,
    /// A ray is kept if the residual grows by less than this factor.
    ray_growth: f64 = 100.0,
    /// Steps without a change of mode ahead after which rows count as contradicting.
    contradictions: usize = 3,
    /// The scale K of a loop row is at least this part of the largest. Cassie: 71 → 95 % solved, 6.8 → 3.7 factors.
    loop_scale: f64 = 0.01,
    /// Compliance of the interior point relative to K.
    path_compliance: f64 = 1e-7,
    /// Friction below this counts as this much in the interior point, whose cones need an inside.
    path_friction: f64 = 1e-3,
    /// Iterations from the given impulses.
    path_warm_steps: usize = 15,
    /// Iterations from zero.
    path_cold_steps: usize = 25,
    /// The interior point hands over to Newton at this residual, m/s.
    path_tolerance: f64 = 1e-5,
    /// A warm interior point above this residual, m/s, is not worth Newton steps.
    path_hopeless: f64 = 1e-2,
    /// Part of the way to the boundary of the cones.
    path_reach: f64 = 0.99,
    /// A step below this is short: it is tried again without corrector.
    path_short: f64 = 0.1,
    /// Short steps in a row that end the path of level 2, and of level 3.
    path_jam: [usize; 2] = [3, 6],
    /// Rounds of level 3. Painlevé's rod needs one (35 factors in all).
    convex_rounds: usize = 4,
    /// Iterations of each.
    convex_steps: usize = 30,
    /// Its residual, m/s.
    convex_tolerance: f64 = 1e-6,
    /// Start of its path above that of level 2.
    convex_start: f64 = 10.0,
    /// A new contact is stuck below this slip, m/s.
    stick_speed: f64 = 1e-3,
    /// A stuck contact slides above this slip, m/s. Breaks at tan 0.7007 for a static coefficient of 0.7.
    break_speed: f64 = 1e-6,
    /// Approach that impacts leave, m/s.
    impact_speed: f64 = 1e-9,
    /// Rounds of impacts before the rest is plastic: 400 random impacts took 2.4 in the mean.
    impact_rounds: usize = 20,
    /// Approach relative to the first below which the rest is plastic.
    impact_small: f64 = 0.01,
}
