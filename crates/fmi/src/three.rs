//! FMI 3.0, co-simulation. Names and arguments are those of the standard (`fmi3FunctionTypes.h`).
#![allow(non_snake_case, reason = "the standard's names")]
#![allow(
    clippy::missing_safety_doc,
    reason = "what all functions ask of the importer is in the crate's documentation"
)]

use std::ffi::{CString, c_char, c_void};
use std::path::Path;

use gelenk::fmu::Saved;

use crate::instance::{Instance, Log, Status};
use crate::memory::{free, handle, places, put, text, values, with};

/// C's `bool`: any byte may come.
type Bool = u8;
/// `fmi3LogMessageCallback`.
type LogMessage = Option<unsafe extern "C" fn(*mut c_void, i32, *const c_char, *const c_char)>;

/// The log of an importer, if it wants one.
fn log(wanted: Bool, environment: *mut c_void, message: LogMessage) -> Option<Log> {
    let message = message.filter(|_| wanted != 0)?;
    Some(Box::new(move |line: &str| {
        let line = CString::new(line.replace('\0', " ")).unwrap_or_default();
        let (status, category) = (Status::Error as i32, c"logStatusError");
        // SAFETY: the importer's function with the importer's environment, and texts that live through the call.
        unsafe { message(environment, status, category.as_ptr(), line.as_ptr()) };
    }))
}

/// The version of the standard.
#[unsafe(no_mangle)]
pub extern "C" fn fmi3GetVersion() -> *const c_char {
    c"3.0".as_ptr()
}

/// Makes an instance; null where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3InstantiateCoSimulation(
    _name: *const c_char,
    token: *const c_char,
    resources: *const c_char,
    _visible: Bool,
    logging: Bool,
    _event_mode: Bool,
    _early_return: Bool,
    _intermediate: *const u32,
    _n_intermediate: usize,
    environment: *mut c_void,
    message: LogMessage,
    _update: *const c_void,
) -> *mut Instance {
    // SAFETY: texts of the importer.
    let (token, resources) = unsafe { (text(token), text(resources)) };
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let (Some(token), Some(resources)) = (token, resources) else {
            return Err("the token and the folder of resources are wanted".to_owned());
        };
        Instance::new(Path::new(resources), token, log(logging, environment, message))
    }));
    match made {
        Ok(Ok(instance)) => handle(instance),
        Ok(Err(why)) => {
            if let Some(log) = log(logging, environment, message) {
                log(&why);
            }
            std::ptr::null_mut()
        }
        Err(_) => std::ptr::null_mut(),
    }
}

/// Not there: units are for co-simulation.
#[unsafe(no_mangle)]
pub extern "C" fn fmi3InstantiateModelExchange() -> *mut Instance {
    std::ptr::null_mut()
}

/// Not there: units are for co-simulation.
#[unsafe(no_mangle)]
pub extern "C" fn fmi3InstantiateScheduledExecution() -> *mut Instance {
    std::ptr::null_mut()
}

/// Frees an instance.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3FreeInstance(instance: *mut Instance) {
    // SAFETY: a handle of ours, freed once.
    unsafe { free(instance) };
}

/// Nothing to set: errors are logged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3SetDebugLogging(
    instance: *mut Instance,
    _on: Bool,
    _n: usize,
    _categories: *const *const c_char,
) -> Status {
    // SAFETY: a handle of ours.
    unsafe { with(instance, |_| Status::Ok) }
}

/// Begins initialization: the start time is kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3EnterInitializationMode(
    instance: *mut Instance,
    _tolerance_defined: Bool,
    _tolerance: f64,
    start: f64,
    _stop_defined: Bool,
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
pub unsafe extern "C" fn fmi3ExitInitializationMode(instance: *mut Instance) -> Status {
    // SAFETY: a handle of ours.
    unsafe {
        with(instance, |instance| {
            let start = instance.start;
            instance.does(|machine| machine.initialize(start))
        })
    }
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
nothing! { fmi3EnterEventMode fmi3EnterStepMode fmi3Terminate fmi3EnterConfigurationMode fmi3ExitConfigurationMode fmi3EvaluateDiscreteStates }

/// Functions of what units do not have: an error. The importer's arguments are not looked at.
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
    fmi3GetDirectionalDerivative fmi3GetAdjointDerivative fmi3GetOutputDerivatives fmi3ActivateModelPartition
    fmi3GetNumberOfVariableDependencies fmi3GetVariableDependencies
    fmi3GetIntervalDecimal fmi3GetIntervalFraction fmi3GetShiftDecimal fmi3GetShiftFraction
    fmi3SetIntervalDecimal fmi3SetIntervalFraction fmi3SetShiftDecimal fmi3SetShiftFraction
    fmi3EnterContinuousTimeMode fmi3CompletedIntegratorStep fmi3SetTime fmi3SetContinuousStates
    fmi3GetContinuousStateDerivatives fmi3GetEventIndicators fmi3GetContinuousStates
    fmi3GetNominalsOfContinuousStates fmi3GetNumberOfEventIndicators fmi3GetNumberOfContinuousStates
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
                    _ => instance.refuses("all variables are of type Float64"),
                })
            }
        }
    )*};
}
other_types! {
    fmi3GetFloat32 fmi3GetInt8 fmi3GetUInt8 fmi3GetInt16 fmi3GetUInt16 fmi3GetInt32 fmi3GetUInt32 fmi3GetInt64
    fmi3GetUInt64 fmi3GetBoolean fmi3GetString fmi3GetBinary fmi3GetClock
    fmi3SetFloat32 fmi3SetInt8 fmi3SetUInt8 fmi3SetInt16 fmi3SetUInt16 fmi3SetInt32 fmi3SetUInt32 fmi3SetInt64
    fmi3SetUInt64 fmi3SetBoolean fmi3SetString fmi3SetBinary fmi3SetClock
}

/// Back to the beginning.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3Reset(instance: *mut Instance) -> Status {
    // SAFETY: a handle of ours.
    unsafe { with(instance, |instance| instance.does(gelenk::fmu::Machine::reset)) }
}

/// Reads variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3GetFloat64(
    instance: *mut Instance,
    references: *const u32,
    n: usize,
    to: *mut f64,
    n_values: usize,
) -> Status {
    // SAFETY: a handle of ours; arrays as long as they are said to be.
    unsafe {
        with(instance, |instance| match (values(references, n), places(to, n_values)) {
            (Some(references), Some(to)) => instance.get(references, to),
            _ => instance.refuses("a null pointer was given"),
        })
    }
}

/// Sets variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3SetFloat64(
    instance: *mut Instance,
    references: *const u32,
    n: usize,
    from: *const f64,
    n_values: usize,
) -> Status {
    // SAFETY: a handle of ours; arrays as long as they are said to be.
    unsafe {
        with(instance, |instance| match (values(references, n), values(from, n_values)) {
            (Some(references), Some(from)) => instance.set(references, from),
            _ => instance.refuses("a null pointer was given"),
        })
    }
}

/// There are no events: nothing changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3UpdateDiscreteStates(
    instance: *mut Instance,
    needs_update: *mut Bool,
    terminate: *mut Bool,
    nominals_changed: *mut Bool,
    values_changed: *mut Bool,
    next_defined: *mut Bool,
    next: *mut f64,
) -> Status {
    // SAFETY: a handle of ours; places for the answers.
    unsafe {
        with(instance, |_| {
            for place in [needs_update, terminate, nominals_changed, values_changed, next_defined] {
                put(place, 0);
            }
            put(next, 0.0);
            Status::Ok
        })
    }
}

/// Makes a communication step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3DoStep(
    instance: *mut Instance,
    from: f64,
    length: f64,
    _no_set_state: Bool,
    event_needed: *mut Bool,
    terminate: *mut Bool,
    early_return: *mut Bool,
    last_time: *mut f64,
) -> Status {
    // SAFETY: a handle of ours; places for the answers.
    unsafe {
        with(instance, |instance| {
            let mut time = 0.0;
            let status = instance.does(|machine| {
                let done = machine.step(from, length);
                time = machine.time();
                done
            });
            for place in [event_needed, terminate, early_return] {
                put(place, 0);
            }
            put(last_time, time);
            status
        })
    }
}

/// Keeps the state: in a new place where there is none yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3GetFMUState(
    instance: *mut Instance,
    state: *mut *mut Saved,
) -> Status {
    // SAFETY: a handle of ours; the place has null or a state of ours.
    unsafe {
        with(instance, |instance| {
            let (Some([state]), Some(saved)) = (places(state, 1), instance.save()) else {
                return instance.refuses("the state cannot be kept");
            };
            match places(*state, 1) {
                Some([before]) => *before = saved,
                _ => *state = handle(saved),
            }
            Status::Ok
        })
    }
}

/// Goes back to a state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3SetFMUState(instance: *mut Instance, state: *const Saved) -> Status {
    // SAFETY: a handle of ours; a state of ours.
    unsafe {
        with(instance, |instance| match values(state, 1) {
            Some([saved]) => instance.does(|machine| machine.restore(saved)),
            _ => instance.refuses("there is no state"),
        })
    }
}

/// Frees a state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3FreeFMUState(
    instance: *mut Instance,
    state: *mut *mut Saved,
) -> Status {
    // SAFETY: a handle of ours; the place has null or a state of ours, freed once.
    unsafe {
        with(instance, |instance| {
            let Some([state]) = places(state, 1) else {
                return instance.refuses("there is no state");
            };
            free(*state);
            *state = std::ptr::null_mut();
            Status::Ok
        })
    }
}

/// How many bytes a state has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3SerializedFMUStateSize(
    instance: *mut Instance,
    state: *const Saved,
    size: *mut usize,
) -> Status {
    // SAFETY: a handle of ours; a state of ours; a place for the answer.
    unsafe {
        with(instance, |instance| {
            let Some([saved]) = values(state, 1) else {
                return instance.refuses("there is no state");
            };
            instance.bytes = saved.to_bytes();
            put(size, instance.bytes.len());
            Status::Ok
        })
    }
}

/// Writes a state as bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3SerializeFMUState(
    instance: *mut Instance,
    state: *const Saved,
    to: *mut u8,
    size: usize,
) -> Status {
    // SAFETY: a handle of ours; a state of ours; as many bytes as it is said.
    unsafe {
        with(instance, |instance| {
            let (Some([saved]), Some(to)) = (values(state, 1), places(to, size)) else {
                return instance.refuses("there is no state, or no place for it");
            };
            let bytes = saved.to_bytes();
            let Some(to) = to.get_mut(..bytes.len()) else {
                return instance.refuses("the place for the state is too small");
            };
            to.copy_from_slice(&bytes);
            Status::Ok
        })
    }
}

/// Reads a state from bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3DeserializeFMUState(
    instance: *mut Instance,
    from: *const u8,
    size: usize,
    state: *mut *mut Saved,
) -> Status {
    // SAFETY: a handle of ours; as many bytes as it is said; the place has null or a state of ours.
    unsafe {
        with(instance, |instance| {
            let (Some(from), Some([state])) = (values(from, size), places(state, 1)) else {
                return instance.refuses("there are no bytes, or no place for the state");
            };
            let Some(saved) = Saved::from_bytes(from) else {
                return instance.refuses("these bytes are not a state of this unit");
            };
            match places(*state, 1) {
                Some([before]) => *before = saved,
                _ => *state = handle(saved),
            }
            Status::Ok
        })
    }
}
