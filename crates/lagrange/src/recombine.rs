//! From sums of circular functions back to products: sum-to-product, half-angle squares, single angles.

use gelenk_expr::{Expr, Pool, Rational};
use rustc_hash::FxHashMap;

use crate::factor::{Terms, collect, product};
use crate::ring::Circular::{Cos, Sin};
use crate::ring::{Circular, MonoId, Poly, Ring, TrigId};

/// A term whose circular part is still a sum's.
type Open = (MonoId, TrigId, Rational);

/// The canonical terms with every circular function as a generator.
pub(crate) fn as_terms(ring: &Ring, pool: &mut Pool, p: &Poly) -> Terms {
    let list: Vec<_> = p.0.iter().map(|((m, t), r)| ((*m, vec![*t]), r.clone())).collect();
    to_terms(ring, pool, list)
}

fn to_terms(ring: &Ring, pool: &mut Pool, list: Vec<((MonoId, Vec<TrigId>), Rational)>) -> Terms {
    let mut trigs: FxHashMap<TrigId, Expr> = FxHashMap::default();
    let mut out = Vec::with_capacity(list.len());
    for ((mono, factors), r) in list {
        let mut generators: Vec<(Expr, i32)> = ring.factors(mono).collect();
        generators.sort_unstable();
        for t in factors {
            if t != 0 {
                let e = *trigs.entry(t).or_insert_with(|| ring.trig_expr(pool, t));
                generators = product(&generators, &[(e, 1)]);
            }
        }
        out.push((generators, r));
    }
    collect(out)
}

/// Pairs of terms contracted by sum-to-product, the most frequent factor first.
pub(crate) fn recombined(ring: &mut Ring, pool: &mut Pool, p: &Poly) -> Terms {
    let open: Vec<Open> = p.0.iter().map(|((m, t), r)| (*m, *t, r.clone())).collect();
    let mut done = Vec::new();
    contract(ring, open, &mut Vec::new(), &mut done, 0);
    to_terms(ring, pool, done)
}

/// The two factors of a pair: 2 f g = ± one ± other. Signs are in the result's first number.
fn pair(ring: &mut Ring, a: TrigId, b: TrigId, same_sign: bool) -> Option<(i8, TrigId, TrigId)> {
    let (x, y) = (ring.trig(a).clone(), ring.trig(b).clone());
    // The constant 1 = cos 0 pairs with cosines.
    if x.kind != y.kind {
        return None;
    }
    let n = x.vector.len().max(y.vector.len());
    let at = |v: &[i16], i: usize| v.get(i).copied().unwrap_or(0);
    let mut sum = Vec::with_capacity(n);
    let mut dif = Vec::with_capacity(n);
    for i in 0..n {
        let (s, d) = (at(&x.vector, i) + at(&y.vector, i), at(&x.vector, i) - at(&y.vector, i));
        if s % 2 != 0 {
            return None;
        }
        sum.push(s / 2);
        dif.push(d / 2);
    }
    // cos a + cos b = 2 cos cos, cos a − cos b = −2 sin sin, sin a + sin b = 2 sin cos, sin a − sin b = 2 cos sin
    let (sign, f, g) = match (x.kind, same_sign) {
        (Cos, true) => (1, Cos, Cos),
        (Cos, false) => (-1, Sin, Sin),
        (Sin, true) => (1, Sin, Cos),
        (Sin, false) => (1, Cos, Sin),
    };
    let (s, f) = ring.trig_of(f, sum)?;
    let (t, g) = ring.trig_of(g, dif)?;
    Some((sign * s * t, f, g))
}

fn contract(
    ring: &mut Ring,
    mut open: Vec<Open>,
    outer: &mut Vec<TrigId>,
    done: &mut Vec<((MonoId, Vec<TrigId>), Rational)>,
    depth: usize,
) {
    loop {
        open.sort_by_key(|a| (a.0, a.1));
        let mut count: FxHashMap<TrigId, usize> = FxHashMap::default();
        let mut pairs: Vec<(usize, usize, i8, TrigId, TrigId)> = Vec::new();
        if depth < 12 {
            let mut start = 0;
            while start < open.len() {
                let mut end = start + 1;
                while end < open.len() && open[end].0 == open[start].0 {
                    end += 1;
                }
                if end - start <= 400 {
                    for i in start..end {
                        for j in i + 1..end {
                            let (c, d) = (&open[i].2, &open[j].2);
                            if c.abs() != d.abs() {
                                continue;
                            }
                            let same = c.is_negative() == d.is_negative();
                            let (a, b) = (open[i].1, open[j].1);
                            if let Some((sign, f, g)) = pair(ring, a, b, same) {
                                pairs.push((i, j, sign, f, g));
                                *count.entry(f).or_default() += 1;
                                if g != f {
                                    *count.entry(g).or_default() += 1;
                                }
                            }
                        }
                    }
                }
                start = end;
            }
        }
        count.remove(&0);
        let weight = |ring: &Ring, t: TrigId| -> i32 {
            ring.trig(t).vector.iter().map(|v| i32::from(v.abs())).sum()
        };
        let best =
            count.into_iter().max_by_key(|&(t, n)| (n, -weight(ring, t), std::cmp::Reverse(t)));
        let Some((factor, _)) = best else { break };
        let mut used = vec![false; open.len()];
        let mut inner: Vec<Open> = Vec::new();
        for (i, j, sign, f, g) in pairs {
            if used[i] || used[j] || (f != factor && g != factor) {
                continue;
            }
            used[i] = true;
            used[j] = true;
            let other = if f == factor { g } else { f };
            let r = &open[i].2 * &Rational::from(2 * i64::from(sign));
            inner.push((open[i].0, other, r));
        }
        outer.push(factor);
        contract(ring, inner, outer, done, depth + 1);
        outer.pop();
        open = open.into_iter().zip(used).filter(|(_, used)| !used).map(|(term, _)| term).collect();
    }
    for (mono, trig, r) in open {
        let mut factors = outer.clone();
        factors.push(trig);
        done.push(((mono, factors), r));
    }
}

/// Circular functions of sums split at the borders of groups of angles: cos(x + y) = cos x cos y − sin x sin y for x and y
/// of different groups; inside a group sums stay together. Angles beyond `groups` are groups of their own.
///
/// Squares come back where they shorten: cos 2x = 2 cos² x − 1 = 1 − 2 sin² x. With `split_doubles` sin 2x = 2 sin x cos x,
/// which may leave a common factor.
pub(crate) fn separated(
    ring: &mut Ring,
    pool: &mut Pool,
    p: &Poly,
    groups: &[usize],
    limit: usize,
    split_doubles: bool,
) -> Option<Terms> {
    let group = |i: usize| groups.get(i).copied().unwrap_or(usize::MAX - i);
    let mut map: FxHashMap<(MonoId, Vec<TrigId>), Rational> = FxHashMap::default();
    for ((mono, trig), r) in &p.0 {
        let t = ring.trig(*trig).clone();
        let mut parts: Vec<(usize, Vec<i16>)> = Vec::new();
        for (i, v) in t.vector.iter().enumerate() {
            if *v == 0 {
                continue;
            }
            let k = group(i);
            let slot = parts.iter().position(|(g, _)| *g == k).unwrap_or_else(|| {
                parts.push((k, Vec::new()));
                parts.len() - 1
            });
            let vector = &mut parts[slot].1;
            vector.resize(i + 1, 0);
            vector[i] = *v;
        }
        if parts.len() > 12 {
            return None;
        }
        // (cos, sin) of the parts so far as sums of products.
        let mut cos: Vec<(i8, Vec<TrigId>)> = vec![(1, Vec::new())];
        let mut sin: Vec<(i8, Vec<TrigId>)> = Vec::new();
        for (_, vector) in parts {
            let c = ring.trig_of(Circular::Cos, vector.clone())?;
            let s = ring.trig_of(Circular::Sin, vector)?;
            let times = |list: &[(i8, Vec<TrigId>)], (sign, t): (i8, TrigId), extra: i8| {
                list.iter()
                    .map(|(x, f)| {
                        let mut f = f.clone();
                        f.push(t);
                        (x * sign * extra, f)
                    })
                    .collect::<Vec<_>>()
            };
            let mut next_cos = times(&cos, c, 1);
            next_cos.extend(times(&sin, s, -1));
            let mut next_sin = times(&sin, c, 1);
            next_sin.extend(times(&cos, s, 1));
            (cos, sin) = (next_cos, next_sin);
        }
        let list = if t.kind == Circular::Cos { cos } else { sin };
        for (sign, mut factors) in list {
            factors.sort_unstable();
            let slot = map.entry((*mono, factors)).or_insert(Rational::ZERO);
            *slot = if sign > 0 { &*slot + r } else { &*slot + &-r };
        }
        if map.len() > limit {
            return None;
        }
    }
    map.retain(|_, r| !r.is_zero());
    let mut map = squares(ring, map);
    if split_doubles {
        map = half_sines(ring, map)?;
    }
    let mut list: Vec<_> = map.into_iter().collect();
    list.sort_by(|a, b| a.0.cmp(&b.0));
    Some(to_terms(ring, pool, list))
}

type Separated = FxHashMap<(MonoId, Vec<TrigId>), Rational>;

/// Replaces sin 2x by 2 sin x cos x; `None` if there is none.
fn half_sines(ring: &mut Ring, map: Separated) -> Option<Separated> {
    let mut out: Separated = FxHashMap::default();
    let mut any = false;
    for ((mono, factors), r) in map {
        let mut next = Vec::with_capacity(factors.len() + 1);
        let mut r = r;
        for t in factors {
            let trig = ring.trig(t).clone();
            let even = trig.vector.iter().all(|v| v % 2 == 0);
            if trig.kind == Circular::Sin && even {
                let half: Vec<i16> = trig.vector.iter().map(|v| v / 2).collect();
                next.push(ring.trig_of(Circular::Sin, half.clone())?.1);
                next.push(ring.trig_of(Circular::Cos, half)?.1);
                r = &r * &Rational::from(2);
                any = true;
            } else {
                next.push(t);
            }
        }
        next.sort_unstable();
        let slot = out.entry((mono, next)).or_insert(Rational::ZERO);
        *slot = &*slot + &r;
    }
    out.retain(|_, r| !r.is_zero());
    any.then_some(out)
}

/// Replaces cos 2x by 2 cos² x − 1 or 1 − 2 sin² x, for each x the way that leaves fewest terms.
fn squares(ring: &mut Ring, mut map: Separated) -> Separated {
    let mut doubles: Vec<TrigId> = map
        .keys()
        .flat_map(|(_, f)| f.iter().copied())
        .filter(|t| {
            let t = ring.trig(*t);
            t.kind == Circular::Cos && !t.vector.is_empty() && t.vector.iter().all(|v| v % 2 == 0)
        })
        .collect();
    doubles.sort_unstable();
    doubles.dedup();
    for double in doubles {
        let half: Vec<i16> = ring.trig(double).vector.iter().map(|v| v / 2).collect();
        let mut best = None;
        for (kind, lead) in [(Circular::Cos, 2), (Circular::Sin, -2)] {
            let Some((_, single)) = ring.trig_of(kind, half.clone()) else { continue };
            let mut next: Separated = FxHashMap::default();
            let mut add = |key: (MonoId, Vec<TrigId>), r: Rational| {
                let slot = next.entry(key).or_insert(Rational::ZERO);
                *slot = &*slot + &r;
            };
            for ((mono, factors), r) in &map {
                if !factors.contains(&double) {
                    add((*mono, factors.clone()), r.clone());
                    continue;
                }
                let mut rest = factors.clone();
                rest.retain(|t| *t != double);
                let mut square = rest.clone();
                square.extend([single, single]);
                square.sort_unstable();
                add((*mono, square), r * &Rational::from(lead));
                let rest_sign = if lead > 0 { -r } else { r.clone() };
                add((*mono, rest), rest_sign);
            }
            next.retain(|_, r| !r.is_zero());
            let n = next.len();
            if n < map.len() && best.as_ref().is_none_or(|(m, _)| n < *m) {
                best = Some((n, next));
            }
        }
        if let Some((_, next)) = best {
            map = next;
        }
    }
    map
}
