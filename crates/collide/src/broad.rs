//! Broad phase: boxes around what each collider sweeps in a step, sorted along x.

use gelenk_model::math::Vec3;

/// Boxes along the world's axes and the order that sorting left behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sweep {
    low: Vec<Vec3>,
    high: Vec<Vec3>,
    order: Vec<u32>,
}

impl Sweep {
    /// Room for n boxes.
    pub(crate) fn new(n: usize) -> Self {
        Sweep {
            low: vec![Vec3::zeros(); n],
            high: vec![Vec3::zeros(); n],
            order: (0..crate::solid::index(n)).collect(),
        }
    }

    /// Sets a box from its middle and half edges.
    pub(crate) fn set(&mut self, i: usize, middle: &Vec3, half: &Vec3) {
        self.low[i] = middle - half;
        self.high[i] = middle + half;
    }

    /// Whether two boxes overlap.
    pub(crate) fn meet(&self, i: u32, j: u32) -> bool {
        let [(l, h), (m, n)] = [i, j].map(|k| (&self.low[k as usize], &self.high[k as usize]));
        (0..3).all(|k| m[k] <= h[k] && l[k] <= n[k])
    }

    /// Calls `meet` for every two boxes that overlap, the smaller number first.
    ///
    /// The order along x changes little from step to step, so that sorting by insertion takes about linear time.
    pub(crate) fn pairs(&mut self, mut meet: impl FnMut(u32, u32)) {
        let (low, high) = (&self.low, &self.high);
        for i in 1..self.order.len() {
            let moving = self.order[i];
            let x = low[moving as usize].x;
            let mut j = i;
            while j > 0 && low[self.order[j - 1] as usize].x > x {
                self.order[j] = self.order[j - 1];
                j -= 1;
            }
            self.order[j] = moving;
        }
        for (k, &i) in self.order.iter().enumerate() {
            let (l, h) = (low[i as usize], high[i as usize]);
            for &j in &self.order[k + 1..] {
                let (m, n) = (&low[j as usize], &high[j as usize]);
                if m.x > h.x {
                    break;
                }
                if m.y <= h.y && l.y <= n.y && m.z <= h.z && l.z <= n.z {
                    meet(i.min(j), i.max(j));
                }
            }
        }
    }
}
