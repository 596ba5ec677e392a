//! Reading option values; each fault says what was expected.

use gelenk::model::Flight;

/// More times than this in one list are a typing error.
const MOST_TIMES: f64 = 1e6;

/// Times of `--at`, s.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Times(pub(crate) Vec<f64>);

/// A number; an expression without names, such as `1/240` or `2*pi`, will do.
fn number(text: &str) -> Result<f64, String> {
    let value = match text.trim().parse() {
        Ok(value) => value,
        Err(_) => match gelenk::number_of_unit(text) {
            Some(number) => {
                return Err(format!("numbers are in SI units and stand alone: write {number}"));
            }
            None => gelenk::constant(text)?,
        },
    };
    if f64::is_finite(value) { Ok(value) } else { Err("it must be a finite number".to_owned()) }
}

/// Numbers with commas between.
pub(crate) fn vector<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let numbers = text.split(',').map(number).collect::<Result<Vec<f64>, String>>()?;
    let n = numbers.len();
    numbers.try_into().map_err(|_| format!("it must be {N} numbers with commas between, not {n}"))
}

/// A number above zero.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 { Ok(value) } else { Err("it must be above zero".to_owned()) }
}

/// A number that is not negative.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value >= 0.0 { Ok(value) } else { Err("it must not be negative".to_owned()) }
}

/// An order the method has.
pub(crate) fn order(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(order @ (2 | 4 | 6 | 8)) => Ok(order),
        _ => Err("the method has the orders 2, 4, 6 and 8".to_owned()),
    }
}

/// How many step sizes a study has: at least two make an order.
pub(crate) fn levels(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(n @ 2..=20) => Ok(n),
        _ => Err("it must be a whole number from 2 to 20".to_owned()),
    }
}

/// A number of threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(n @ 1..=4096) => Ok(n),
        _ => Err("it must be a whole number from 1 to 4096".to_owned()),
    }
}

/// An order of the Taylor method.
pub(crate) fn taylor_order(text: &str) -> Result<usize, String> {
    const MOST: usize = gelenk::drift::MAX_ORDER;
    match text.trim().parse() {
        Ok(n @ 1..=MOST) => Ok(n),
        _ => Err(format!("it must be a whole number from 1 to {MOST}")),
    }
}

/// How many instants a film strip shows.
pub(crate) fn frames(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(n @ 1..=200) => Ok(n),
        _ => Err("it must be a whole number from 1 to 200".to_owned()),
    }
}

/// `NAME=VALUE`
pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write it as name=value, for example l=2.5".to_owned()),
    }
}

/// `NAME=COUNT`
pub(crate) fn limit(text: &str) -> Result<(String, u64), String> {
    let (name, value) = assignment(text)?;
    match value.replace('_', "").parse() {
        Ok(count) => Ok((name, count)),
        Err(_) => Err("write it as name=count, for example bodies=200000".to_owned()),
    }
}

/// `NAME=NUMBER`
pub(crate) fn verdict_limit(text: &str) -> Result<(String, f64), String> {
    let (name, value) = assignment(text)?;
    Ok((name, number(&value)?))
}

/// `exact` or `taylor:N`
pub(crate) fn flight(text: &str) -> Result<Flight, String> {
    if text == "exact" {
        return Ok(Flight::Exact);
    }
    match text.strip_prefix("taylor:").map(str::parse) {
        Some(Ok(order @ 1..=30)) => Ok(Flight::Taylor(order)),
        _ => Err("it must be exact, or taylor:N with N from 1 to 30".to_owned()),
    }
}

/// `1,2,5` and `FROM:TO:EVERY`, mixed as wanted; sorted, each time once.
pub(crate) fn times(text: &str) -> Result<Times, String> {
    let mut list = Vec::new();
    for item in text.split(',').filter(|item| !item.trim().is_empty()) {
        let parts: Vec<&str> = item.split(':').collect();
        match parts[..] {
            [t] => list.push(not_negative(t).map_err(|why| format!("`{t}`: {why}"))?),
            [from, to, every] => push_range(item, [from, to, every], &mut list)?,
            _ => return Err(format!("`{item}`: write a time or FROM:TO:EVERY, in s")),
        }
    }
    if list.is_empty() {
        return Err("no time given".to_owned());
    }
    list.sort_by(f64::total_cmp);
    list.dedup();
    Ok(Times(list))
}

fn push_range(item: &str, range: [&str; 3], list: &mut Vec<f64>) -> Result<(), String> {
    let named = |why: String| format!("`{item}`: {why}");
    let from = not_negative(range[0]).map_err(named)?;
    let to = not_negative(range[1]).map_err(named)?;
    let every = positive(range[2]).map_err(named)?;
    // The end belongs to the range although rounding may put it a hair outside.
    let n = ((to - from) / every + 1e-9).floor();
    if n < 0.0 || n + list.len() as f64 > MOST_TIMES {
        return Err(format!("`{item}`: this is no list of at most {MOST_TIMES} times"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1e6")]
    let n = n as u32;
    list.extend((0..=n).map(|i| (from + f64::from(i) * every).min(to)));
    Ok(())
}

/// Width and height in pixels: `1280x800`.
pub(crate) fn pixels(text: &str) -> Result<(u32, u32), String> {
    let parsed = text.split_once(['x', 'X']).and_then(|(width, height)| {
        Some((width.trim().parse().ok()?, height.trim().parse().ok()?))
    });
    match parsed {
        Some((width, height)) if (16..=8192).contains(&width) && (16..=8192).contains(&height) => {
            Ok((width, height))
        }
        Some(_) => Err("sizes reach from 16 to 8192 pixels".to_owned()),
        None => Err("write width and height as 1280x800".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_lists_and_ranges() {
        assert_eq!(times("2,1,2").unwrap().0, [1.0, 2.0]);
        assert_eq!(times("0:0.3:0.1, 5").unwrap().0, [0.0, 0.1, 0.2, 0.3, 5.0]);
        for bad in ["", "1:2", "x", "-1", "0:1:0", "2:1:0.1", "0:1e9:1e-9", "inf", "1:2:3:4"] {
            assert!(times(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_checked() {
        assert!(positive("0").is_err());
        assert!(positive("nan").is_err());
        let expected = [1.0, -0.5, 0.25_f64].map(f64::to_bits);
        assert_eq!(vector::<3>("1,-0.5,1/4").unwrap().map(f64::to_bits), expected);
        assert!(vector::<3>("1,2").is_err());
        assert!(positive("5s").unwrap_err().ends_with("write 5"));
        assert!(not_negative("-1e-9").is_err());
        assert_eq!(flight("taylor:3").unwrap(), Flight::Taylor(3));
        assert!(flight("taylor:99").is_err());
        assert!(assignment("=3").is_err());
        assert_eq!(limit("bodies=200_000").unwrap(), ("bodies".to_owned(), 200_000));
    }
}
