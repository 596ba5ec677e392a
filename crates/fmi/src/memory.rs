//! Pointers of the importer as Rust has them. All reading of foreign memory is here.

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::instance::{Instance, Status};

/// The values at a pointer; none for a count of zero, `None` for a null pointer.
///
/// # Safety
/// A pointer that is not null points to `n` values, which nobody changes while the slice is used.
pub(crate) unsafe fn values<'a, T>(at: *const T, n: usize) -> Option<&'a [T]> {
    if n == 0 {
        return Some(&[]);
    }
    if at.is_null() || !at.is_aligned() {
        return None;
    }
    // SAFETY: not null, aligned, and as many values as the importer says.
    Some(unsafe { std::slice::from_raw_parts(at, n) })
}

/// The same, to be written to.
///
/// # Safety
/// A pointer that is not null points to `n` values that nobody else uses while the slice is used.
pub(crate) unsafe fn places<'a, T>(at: *mut T, n: usize) -> Option<&'a mut [T]> {
    if n == 0 {
        return Some(&mut []);
    }
    if at.is_null() || !at.is_aligned() {
        return None;
    }
    // SAFETY: not null, aligned, and as many values as the importer says.
    Some(unsafe { std::slice::from_raw_parts_mut(at, n) })
}

/// A text of C; `None` for a null pointer or what is not UTF-8.
///
/// # Safety
/// A pointer that is not null points to a text that ends with a zero.
pub(crate) unsafe fn text<'a>(at: *const c_char) -> Option<&'a str> {
    if at.is_null() {
        return None;
    }
    // SAFETY: not null, and the importer's texts end with a zero.
    unsafe { CStr::from_ptr(at) }.to_str().ok()
}

/// Writes a value where the importer wants it, if it does.
///
/// # Safety
/// A pointer that is not null points to a place for a value.
pub(crate) unsafe fn put<T>(at: *mut T, value: T) {
    if !at.is_null() && at.is_aligned() {
        // SAFETY: not null, aligned, and a place for such a value.
        unsafe { at.write(value) };
    }
}

/// Does something with the instance of a handle; a null handle is an error, and no panic passes.
///
/// # Safety
/// A handle that is not null was given out by this library and has not been freed, and no other call uses it now.
pub(crate) unsafe fn with(
    handle: *mut Instance,
    work: impl FnOnce(&mut Instance) -> Status,
) -> Status {
    if handle.is_null() || !handle.is_aligned() {
        return Status::Error;
    }
    // SAFETY: a handle that we gave out, which is alive, and used by this call alone.
    let instance = unsafe { &mut *handle };
    catch_unwind(AssertUnwindSafe(|| work(instance))).unwrap_or(Status::Fatal)
}

/// A handle for a value: the importer gives it back to [`free`].
pub(crate) fn handle<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Frees what a handle stands for.
///
/// # Safety
/// A handle that is not null came from [`handle`] and has not been freed.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() && handle.is_aligned() {
        // SAFETY: it came from `Box::into_raw`, and is freed once.
        let value = unsafe { Box::from_raw(handle) };
        // A panic while it goes away must not pass.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
    }
}
