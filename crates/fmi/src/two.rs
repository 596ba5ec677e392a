//! FMI 2.0, co-simulation. Names and arguments are those of the standard (`fmi2FunctionTypes.h`).
#![allow(non_snake_case, reason = "the standard's names")]
#![allow(
    clippy::missing_safety_doc,
    reason = "what all functions ask of the importer is in the crate's documentation"
)]

use std::ffi::{CString, c_char, c_void};
use std::path::PathBuf;

use gelenk::fmu::Saved;

use crate::instance::{Instance, Log, Status};
use crate::memory::{free, handle, put, text, with};
use crate::three;

/// `fmi2CallbackLogger`: like `printf`.
type Logger = Option<
    unsafe extern "C" fn(*mut c_void, *const c_char, i32, *const c_char, *const c_char, ...),
>;

/// `fmi2CallbackFunctions`
#[repr(C)]
#[derive(Debug)]
pub struct Callbacks {
    logger: Logger,
    allocate: *const c_void,
    free: *const c_void,
    step_finished: *const c_void,
    environment: *mut c_void,
}

/// `fmi2CoSimulation`
const CO_SIMULATION: i32 = 1;

/// The log of an importer, if it wants one.
fn log(wanted: i32, callbacks: Option<&Callbacks>, name: Option<&str>) -> Option<Log> {
    let callbacks = callbacks.filter(|_| wanted != 0)?;
    let (logger, environment) = (callbacks.logger?, callbacks.environment);
    let name = CString::new(name.unwrap_or_default()).unwrap_or_default();
    Some(Box::new(move |line: &str| {
        let line = CString::new(line.replace('\0', " ")).unwrap_or_default();
        let (status, category) = (Status::Error as i32, c"logStatusError");
        // SAFETY: the importer's function with the importer's environment, and texts that live through the call; `%s` takes one of them.
        unsafe {
            logger(
                environment,
                name.as_ptr(),
                status,
                category.as_ptr(),
                c"%s".as_ptr(),
                line.as_ptr(),
            );
        }
    }))
}

/// The folder that a `file:` address means.
fn folder(address: &str) -> Option<PathBuf> {
    let path = address.strip_prefix("file:")?;
    let path = path.strip_prefix("//").map_or(path, |rest| &rest[rest.find('/').unwrap_or(0)..]);
    let mut bytes = Vec::new();
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    // file:///C:/...
    let drive = path.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if drive { &path[1..] } else { &path }))
}

/// The types of the platform.
#[unsafe(no_mangle)]
pub extern "C" fn fmi2GetTypesPlatform() -> *const c_char {
    c"default".as_ptr()
}

/// The version of the standard.
#[unsafe(no_mangle)]
pub extern "C" fn fmi2GetVersion() -> *const c_char {
    c"2.0".as_ptr()
}

/// Makes an instance; null where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2Instantiate(
    name: *const c_char,
    kind: i32,
    token: *const c_char,
    resources: *const c_char,
    callbacks: *const Callbacks,
    _visible: i32,
    logging: i32,
) -> *mut Instance {
    // SAFETY: texts and callbacks of the importer.
    let (name, token, resources, callbacks) =
        unsafe { (text(name), text(token), text(resources), callbacks.as_ref()) };
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        if kind != CO_SIMULATION {
            return Err("units are for co-simulation".to_owned());
        }
        let (Some(token), Some(folder)) = (token, resources.and_then(folder)) else {
            return Err("the GUID and a `file:` address of the resources are wanted".to_owned());
        };
        Instance::new(&folder, token, log(logging, callbacks, name))
    }));
    match made {
        Ok(Ok(instance)) => handle(instance),
        Ok(Err(why)) => {
            if let Some(log) = log(logging, callbacks, name) {
                log(&why);
            }
            std::ptr::null_mut()
        }
        Err(_) => std::ptr::null_mut(),
    }
}

/// Frees an instance.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2FreeInstance(instance: *mut Instance) {
    // SAFETY: a handle of ours, freed once.
    unsafe { free(instance) };
}

/// Nothing to set: errors are logged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SetDebugLogging(
    instance: *mut Instance,
    _on: i32,
    _n: usize,
    _categories: *const *const c_char,
) -> Status {
    // SAFETY: a handle of ours.
    unsafe { with(instance, |_| Status::Ok) }
}

/// The start time is kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SetupExperiment(
    instance: *mut Instance,
    _tolerance_defined: i32,
    _tolerance: f64,
    start: f64,
    _stop_defined: i32,
    _stop: f64,
) -> Status {
    // SAFETY: a handle of ours.
    unsafe {
        with(instance, |instance| {
            instance.start = start;
            Status::Ok
        })
    }
}

/// Ends initialization: parameters stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2ExitInitializationMode(instance: *mut Instance) -> Status {
    // SAFETY: as of the function of the other version.
    unsafe { three::fmi3ExitInitializationMode(instance) }
}

/// Back to the beginning.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2Reset(instance: *mut Instance) -> Status {
    // SAFETY: as of the function of the other version.
    unsafe { three::fmi3Reset(instance) }
}

/// Functions that have nothing to do.
macro_rules! nothing {
    ($($name:ident)*) => {$(
        /// Nothing to do here.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(instance: *mut Instance) -> Status {
            // SAFETY: a handle of ours.
            unsafe { with(instance, |_| Status::Ok) }
        }
    )*};
}
nothing! { fmi2EnterInitializationMode fmi2Terminate }

/// Functions of what units do not have: an error. The importer's other arguments are not looked at.
macro_rules! absent {
    ($($name:ident)*) => {$(
        /// Not there: the description of the unit does not offer it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(instance: *mut Instance) -> Status {
            // SAFETY: a handle of ours.
            unsafe { with(instance, |instance| instance.refuses(concat!(stringify!($name), " is not supported"))) }
        }
    )*};
}
absent! {
    fmi2GetDirectionalDerivative fmi2SetRealInputDerivatives fmi2GetRealOutputDerivatives fmi2CancelStep
    fmi2GetStatus fmi2GetIntegerStatus fmi2GetStringStatus
}

/// Variables of types that no unit of ours has: only none of them can be read or set.
macro_rules! other_types {
    ($($name:ident)*) => {$(
        /// There are no variables of this type.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(instance: *mut Instance, _references: *const u32, n: usize) -> Status {
            // SAFETY: a handle of ours.
            unsafe {
                with(instance, |instance| match n {
                    0 => Status::Ok,
                    _ => instance.refuses("all variables are of type Real"),
                })
            }
        }
    )*};
}
other_types! { fmi2GetInteger fmi2GetBoolean fmi2GetString fmi2SetInteger fmi2SetBoolean fmi2SetString }

/// Reads variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2GetReal(
    instance: *mut Instance,
    references: *const u32,
    n: usize,
    to: *mut f64,
) -> Status {
    // SAFETY: as of the function of the other version; there are as many values as references.
    unsafe { three::fmi3GetFloat64(instance, references, n, to, n) }
}

/// Sets variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SetReal(
    instance: *mut Instance,
    references: *const u32,
    n: usize,
    from: *const f64,
) -> Status {
    // SAFETY: as of the function of the other version; there are as many values as references.
    unsafe { three::fmi3SetFloat64(instance, references, n, from, n) }
}

/// Makes a communication step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2DoStep(
    instance: *mut Instance,
    from: f64,
    length: f64,
    _no_set_state: i32,
) -> Status {
    // SAFETY: a handle of ours.
    unsafe { with(instance, |instance| instance.does(|machine| machine.step(from, length))) }
}

/// `fmi2LastSuccessfulTime`
const LAST_SUCCESSFUL_TIME: i32 = 2;

/// The time reached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2GetRealStatus(
    instance: *mut Instance,
    kind: i32,
    value: *mut f64,
) -> Status {
    // SAFETY: a handle of ours; a place for the answer.
    unsafe {
        with(instance, |instance| {
            if kind != LAST_SUCCESSFUL_TIME {
                return instance.refuses("there is no such status");
            }
            let mut time = 0.0;
            let status = instance.does(|machine| {
                time = machine.time();
                Ok::<(), String>(())
            });
            put(value, time);
            status
        })
    }
}

/// No unit ends by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2GetBooleanStatus(
    instance: *mut Instance,
    _kind: i32,
    value: *mut i32,
) -> Status {
    // SAFETY: a handle of ours; a place for the answer.
    unsafe {
        with(instance, |_| {
            put(value, 0);
            Status::Ok
        })
    }
}

/// Keeps the state: in a new place where there is none yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2GetFMUstate(
    instance: *mut Instance,
    state: *mut *mut Saved,
) -> Status {
    // SAFETY: as of the function of the other version.
    unsafe { three::fmi3GetFMUState(instance, state) }
}

/// Goes back to a state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SetFMUstate(instance: *mut Instance, state: *const Saved) -> Status {
    // SAFETY: as of the function of the other version.
    unsafe { three::fmi3SetFMUState(instance, state) }
}

/// Frees a state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2FreeFMUstate(
    instance: *mut Instance,
    state: *mut *mut Saved,
) -> Status {
    // SAFETY: as of the function of the other version.
    unsafe { three::fmi3FreeFMUState(instance, state) }
}

/// How many bytes a state has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SerializedFMUstateSize(
    instance: *mut Instance,
    state: *const Saved,
    size: *mut usize,
) -> Status {
    // SAFETY: as of the function of the other version.
    unsafe { three::fmi3SerializedFMUStateSize(instance, state, size) }
}

/// Writes a state as bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SerializeFMUstate(
    instance: *mut Instance,
    state: *const Saved,
    to: *mut u8,
    size: usize,
) -> Status {
    // SAFETY: as of the function of the other version.
    unsafe { three::fmi3SerializeFMUState(instance, state, to, size) }
}

/// Reads a state from bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2DeSerializeFMUstate(
    instance: *mut Instance,
    from: *const u8,
    size: usize,
    state: *mut *mut Saved,
) -> Status {
    // SAFETY: as of the function of the other version.
    unsafe { three::fmi3DeserializeFMUState(instance, from, size, state) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_folders() {
        for (address, path) in [
            ("file:///tmp/a%20b/resources", "/tmp/a b/resources"),
            ("file:/tmp/x", "/tmp/x"),
            ("file://localhost/tmp/x", "/tmp/x"),
            ("file:///C:/x", "C:/x"),
        ] {
            assert_eq!(folder(address), Some(PathBuf::from(path)), "{address}");
        }
        for bad in ["", "/tmp/x", "http://x/y", "file:///%zz", "file:///%f"] {
            assert_eq!(folder(bad), None, "{bad}");
        }
    }
}
