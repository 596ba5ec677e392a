//! Which instants and which paths are drawn.

use gelenk_model::math::Vec3;

use super::scene::{Item, Scene};

/// Most points of a path that are drawn.
const MAX_PATH: usize = 600;
/// Most paths that are drawn.
const MAX_PATHS: usize = 8;

/// The scenes nearest to about `n` equally spaced times, at round numbers of seconds where that can be.
pub(super) fn pick_frames(scenes: &[Scene], n: usize) -> Vec<usize> {
    let (Some(first), Some(last)) = (scenes.first(), scenes.last()) else { return Vec::new() };
    let n = round_count(last.t - first.t, n).clamp(1, scenes.len());
    let mut frames = Vec::new();
    for k in 0..n {
        let part = if n == 1 { 1.0 } else { k as f64 / (n - 1) as f64 };
        let t = first.t + part * (last.t - first.t);
        let after = scenes.partition_point(|scene| scene.t < t).min(scenes.len() - 1);
        let before = after.saturating_sub(1);
        let off = |i: usize| (scenes[i].t - t).abs();
        let nearer = if off(after) <= off(before) { after } else { before };
        if frames.last() != Some(&nearer) {
            frames.push(nearer);
        }
    }
    frames
}

/// The number of frames nearest to `n` whose spacing is a round part of the duration; `n` where there is none near.
fn round_count(duration: f64, n: usize) -> usize {
    if !(duration > 0.0 && duration.is_finite()) || n < 3 {
        return n;
    }
    let wanted = duration / (n - 1) as f64;
    let power = 10f64.powf(wanted.log10().floor());
    let mut best = n;
    let mut least = 0.31 * n as f64;
    for digit in [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0] {
        let intervals = duration / (digit * power);
        let whole = intervals.round();
        let off = (whole + 1.0 - n as f64).abs();
        if (intervals - whole).abs() <= 1e-6 * intervals && off < least {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive and near n"
            )]
            let count = whole as usize + 1;
            (best, least) = (count, off);
        }
    }
    best
}

/// The way of every point that is drawn, over time.
pub(super) fn point_paths(scenes: &[Scene]) -> Vec<Vec<Vec3>> {
    let mut paths: Vec<Vec<Vec3>> = Vec::new();
    let every = scenes.len().div_ceil(200).max(1);
    for scene in scenes.iter().step_by(every) {
        let points = scene.items.iter().flat_map(Item::points);
        for (i, p) in points.enumerate() {
            match paths.get_mut(i) {
                Some(path) => path.push(*p),
                None => paths.push(vec![*p]),
            }
        }
    }
    paths
}

/// The tips with the longest ways, in their order.
pub(super) fn longest_paths(scenes: &[Scene]) -> Vec<usize> {
    let n = scenes.first().map_or(0, |scene| scene.tips.len());
    let way = |i: usize| {
        let tip = |scene: &Scene| scene.tips.get(i).map_or_else(Vec3::zeros, |(p, _)| *p);
        scenes.windows(2).map(|pair| (tip(&pair[1]) - tip(&pair[0])).norm()).sum::<f64>()
    };
    let mut ways: Vec<(usize, f64)> =
        (0..n).map(|i| (i, way(i))).filter(|(_, way)| *way > 0.0).collect();
    ways.sort_by(|a, b| b.1.total_cmp(&a.1));
    let joints = scenes.first().is_some_and(|scene| scene.tips_are_joints);
    ways.truncate(if joints { 1 } else { MAX_PATHS });
    let mut kept: Vec<usize> = ways.into_iter().map(|(i, _)| i).collect();
    kept.sort_unstable();
    kept
}

/// At most [`MAX_PATH`] of the points, the last one kept.
pub(super) fn thin_out(points: Vec<Vec3>) -> Vec<Vec3> {
    let every = points.len().div_ceil(MAX_PATH).max(1);
    let last = points.last().copied();
    let mut kept: Vec<Vec3> = points.into_iter().step_by(every).collect();
    if every > 1 {
        kept.extend(last);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_at_round_times_where_that_can_be() {
        assert_eq!(round_count(1.6, 14), 17); // every 0.1 s
        assert_eq!(round_count(1.5, 8), 7); // every 0.25 s
        assert_eq!(round_count(10.0, 12), 11); // every second
        assert_eq!(round_count(std::f64::consts::PI, 8), 8);
        assert_eq!(round_count(0.0, 8), 8);
        assert_eq!(round_count(f64::NAN, 8), 8);
        assert_eq!(round_count(1e-300, 8), round_count(1.0, 8));
    }
}
