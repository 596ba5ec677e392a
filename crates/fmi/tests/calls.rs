//! The C interface as importers use it, and as they should not: random calls never crash, and what is right gives the motion of the engine.
//!
//! `GELENK_FUZZ_SECONDS=300 cargo test -p gelenk-fmi --test calls` fuzzes longer.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::too_many_lines,
    reason = "random numbers are cut as they come"
)]

use std::ffi::CString;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use gelenk::fmu::{Machine, Saved};
use gelenk::model::{LoadOptions, load_text};
use gelenk::recording::Header;
use gelenk_fmi::instance::{Instance, Status};
use gelenk_fmi::{three, two};

/// The resources of a unit of a gallery model, and its token.
fn resources(folder: &Path, name: &str) -> (CString, CString, Header) {
    let scene = gelenk::scenes::scene(name).unwrap();
    let loaded = load_text(scene.name, scene.text, &LoadOptions::default()).unwrap();
    let header = Header::of_loaded(&loaded, &[], &loaded.model.run);
    let machine = Machine::new(header.clone()).unwrap();
    std::fs::write(folder.join("model.json"), machine.header_json().unwrap()).unwrap();
    let path = CString::new(folder.to_str().unwrap()).unwrap();
    (path, CString::new(machine.token()).unwrap(), header)
}

fn made(path: &CString, token: &CString) -> *mut Instance {
    // SAFETY: texts that live through the call.
    unsafe {
        three::fmi3InstantiateCoSimulation(
            c"unit".as_ptr(),
            token.as_ptr(),
            path.as_ptr(),
            0,
            0,
            0,
            0,
            null(),
            0,
            null_mut(),
            None,
            null(),
        )
    }
}

fn variable(header: &Header, name: &str) -> u32 {
    let machine = Machine::new(header.clone()).unwrap();
    machine.variables().iter().find(|variable| variable.name == name).unwrap().reference
}

#[test]
fn steps_states_and_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (path, token, header) = resources(folder.path(), "three-link-arm");
    let (angle, input) = (variable(&header, "joint.elbow.angle"), variable(&header, "input.tau1"));
    let step = header.settings.step;
    // SAFETY: the handle is alive, arrays are as long as is said, and each state is freed once.
    unsafe {
        let unit = made(&path, &token);
        assert!(!unit.is_null());
        let read = || {
            let mut x = [0.0];
            assert_eq!(
                three::fmi3GetFloat64(unit, &raw const angle, 1, x.as_mut_ptr(), 1),
                Status::Ok
            );
            x[0].to_bits()
        };
        let go = |from: f64, n: f64| {
            let (mut a, mut b, mut c, mut last) = (9, 9, 9, 0.0);
            let done = three::fmi3DoStep(
                unit,
                from,
                n * step,
                1,
                &raw mut a,
                &raw mut b,
                &raw mut c,
                &raw mut last,
            );
            assert_eq!((done, [a, b, c]), (Status::Ok, [0; 3]));
            assert!((last - from - n * step).abs() < 1e-12);
        };
        let (torque, nan) = (1.5, f64::NAN);
        assert_eq!(three::fmi3EnterInitializationMode(unit, 0, 0.0, 0.0, 0, 0.0), Status::Ok);
        assert_eq!(
            three::fmi3SetFloat64(unit, &raw const input, 1, &raw const torque, 1),
            Status::Ok
        );
        assert_eq!(three::fmi3ExitInitializationMode(unit), Status::Ok);
        go(0.0, 10.0);
        let mut state: *mut Saved = null_mut();
        assert_eq!(three::fmi3GetFMUState(unit, &raw mut state), Status::Ok);
        go(10.0 * step, 10.0);
        let end = read();
        assert_eq!(three::fmi3SetFMUState(unit, state), Status::Ok);
        assert_ne!(read(), end);
        go(10.0 * step, 10.0);
        assert_eq!(read(), end, "from a state it goes on with the same bits");
        let mut size = 0;
        assert_eq!(three::fmi3SerializedFMUStateSize(unit, state, &raw mut size), Status::Ok);
        let mut bytes = vec![0_u8; size];
        assert_eq!(three::fmi3SerializeFMUState(unit, state, bytes.as_mut_ptr(), size), Status::Ok);
        assert_eq!(
            three::fmi3SerializeFMUState(unit, state, bytes.as_mut_ptr(), size - 1),
            Status::Error
        );
        assert_eq!(three::fmi3FreeFMUState(unit, &raw mut state), Status::Ok);
        assert!(state.is_null());
        let other = made(&path, &token);
        assert_eq!(
            three::fmi3DeserializeFMUState(other, bytes.as_ptr(), size, &raw mut state),
            Status::Ok
        );
        assert_eq!(three::fmi3SetFMUState(other, state), Status::Ok);
        let (mut byte, mut last) = (0, 0.0);
        let p = &raw mut byte;
        assert_eq!(
            three::fmi3DoStep(other, 10.0 * step, 10.0 * step, 1, p, p, p, &raw mut last),
            Status::Ok
        );
        let mut x = [0.0];
        assert_eq!(two::fmi2GetReal(other, &raw const angle, 1, x.as_mut_ptr()), Status::Ok);
        assert_eq!(x[0].to_bits(), end, "and so it does from its bytes, in another instance");
        // What is wrong is refused and changes nothing.
        assert_eq!(three::fmi3DoStep(unit, 0.0, step, 1, p, p, p, &raw mut last), Status::Error);
        assert_eq!(
            three::fmi3DoStep(unit, last, 0.5 * step, 1, p, p, p, &raw mut last),
            Status::Error
        );
        assert_eq!(
            three::fmi3SetFloat64(unit, &raw const angle, 1, &raw const torque, 1),
            Status::Error
        );
        assert_eq!(
            three::fmi3SetFloat64(unit, &raw const input, 1, &raw const nan, 1),
            Status::Error
        );
        assert_eq!(three::fmi3GetFloat64(unit, null(), 1, x.as_mut_ptr(), 1), Status::Error);
        assert_eq!(three::fmi3GetDirectionalDerivative(unit), Status::Error);
        assert_eq!(read(), end);
        assert_eq!(three::fmi3FreeFMUState(other, &raw mut state), Status::Ok);
        three::fmi3FreeInstance(other);
        three::fmi3FreeInstance(unit);
        assert!(made(&path, &CString::new("other").unwrap()).is_null());
        assert!(made(&CString::new("/none").unwrap(), &token).is_null());
        assert_eq!(three::fmi3Reset(null_mut()), Status::Error);
    }
}

/// A stream of numbers: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A time or length that an importer might send: plain, extreme, or any bits.
    fn number(&mut self) -> f64 {
        match self.below(8) {
            0 => f64::from_bits(self.next()),
            1 => f64::MAX,
            _ => self.value(),
        }
    }

    /// A value for a variable: such that a machine can move with it, or none at all. (Steps of machines that are torn apart are the engine's
    /// to give up, and take their time.)
    fn value(&mut self) -> f64 {
        match self.below(9) {
            0 => [0.0, -0.0, f64::NAN, f64::INFINITY][self.below(4) as usize],
            _ => (self.below(151) as f64 + 50.0) / 100.0,
        }
    }
}

/// Random calls of both versions on one instance: each gives a status, none crashes, and the instance can be freed.
#[test]
fn random_calls_never_crash() {
    let seconds = std::env::var("GELENK_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(3));
    let folder = tempfile::tempdir().unwrap();
    let units: Vec<_> = ["pendulum", "three-link-arm", "double-pendulum"]
        .into_iter()
        .map(|name| {
            let folder = folder.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            resources(&folder, name)
        })
        .collect();
    let mut calls = 0_u64;
    for seed in 0.. {
        if Instant::now() > end {
            break;
        }
        let mut random = Random(seed);
        let (path, token, header) = &units[random.below(3) as usize];
        let unit = made(path, token);
        assert!(!unit.is_null());
        let step = header.settings.step;
        let mut time = 0.0;
        let mut states: [*mut Saved; 3] = [null_mut(); 3];
        let mut bytes: Vec<u8> = Vec::new();
        // States from bytes that were changed: they are restored, but nothing moves from there.
        let mut changed = [false; 3];
        for _ in 0..random.below(60) {
            if Instant::now() > end {
                break;
            }
            calls += 1;
            let n = random.below(6) as usize;
            let references: Vec<u32> = (0..n)
                .map(|_| {
                    if random.below(9) == 0 {
                        random.next() as u32
                    } else {
                        random.below(40) as u32
                    }
                })
                .collect();
            let mut values: Vec<f64> = (0..n).map(|_| random.value()).collect();
            let (n_values, nothing) = (random.below(n as u64 + 1) as usize, random.below(12) == 0);
            let at = if nothing { null() } else { references.as_ptr() };
            let k = random.below(3) as usize;
            let mut flag = 0_u8;
            let flag = &raw mut flag;
            let mut last = 0.0;
            // SAFETY: the handle is alive; counts are at most the lengths of their arrays; states are freed once.
            let status = unsafe {
                match random.below(18) {
                    0 => three::fmi3GetFloat64(unit, at, n, values.as_mut_ptr(), n_values),
                    1 => three::fmi3SetFloat64(unit, at, n, values.as_ptr(), n_values),
                    2 => two::fmi2GetReal(unit, at, n, values.as_mut_ptr()),
                    3 => two::fmi2SetReal(unit, at, n, values.as_ptr()),
                    4 => three::fmi3EnterInitializationMode(
                        unit,
                        1,
                        random.number(),
                        random.number(),
                        1,
                        1.0,
                    ),
                    5 => two::fmi2SetupExperiment(unit, 0, 0.0, 0.0, 0, 0.0),
                    6 => three::fmi3ExitInitializationMode(unit),
                    7 | 8 => {
                        let length = step * random.below(4) as f64;
                        let status = three::fmi3DoStep(
                            unit,
                            time,
                            length,
                            0,
                            flag,
                            flag,
                            null_mut(),
                            &raw mut last,
                        );
                        if status == Status::Ok {
                            time = last;
                        }
                        status
                    }
                    9 => two::fmi2DoStep(unit, random.number(), step * random.value(), 1),
                    10 => {
                        changed[k] = false;
                        three::fmi3GetFMUState(unit, &raw mut states[k])
                    }
                    11 => {
                        let status = three::fmi3SetFMUState(unit, states[k]);
                        if changed[k] {
                            time = 0.0;
                            three::fmi3Reset(unit)
                        } else {
                            status
                        }
                    }
                    12 => three::fmi3FreeFMUState(unit, &raw mut states[k]),
                    13 => {
                        let mut size = 0;
                        let status =
                            three::fmi3SerializedFMUStateSize(unit, states[k], &raw mut size);
                        bytes = vec![0; size];
                        three::fmi3SerializeFMUState(unit, states[k], bytes.as_mut_ptr(), size);
                        status
                    }
                    14 => {
                        let (i, byte) = (random.next() as usize, random.next() as u8);
                        if let (false, Some(i)) =
                            (bytes.is_empty(), i.checked_rem(bytes.len().max(1)))
                        {
                            bytes[i] = byte;
                        }
                        let size = random.below(bytes.len() as u64 + 1) as usize;
                        let size = if random.below(2) == 0 { size } else { bytes.len() };
                        changed[k] = true;
                        three::fmi3DeserializeFMUState(
                            unit,
                            bytes.as_ptr(),
                            size,
                            &raw mut states[k],
                        )
                    }
                    15 => three::fmi3Reset(unit),
                    16 => two::fmi2GetRealStatus(unit, random.below(4) as i32, &raw mut last),
                    _ => three::fmi3UpdateDiscreteStates(
                        unit,
                        flag,
                        flag,
                        null_mut(),
                        flag,
                        flag,
                        &raw mut last,
                    ),
                }
            };
            assert_ne!(status, Status::Fatal, "seed {seed}: a panic");
        }
        // SAFETY: each is freed once.
        unsafe {
            for state in &mut states {
                three::fmi3FreeFMUState(unit, state);
            }
            three::fmi3FreeInstance(unit);
        }
    }
    assert!(calls > 100, "only {calls} calls");
    // SAFETY: a constant text.
    let version = unsafe { std::ffi::CStr::from_ptr(three::fmi3GetVersion()) };
    assert_eq!(version, c"3.0");
}
