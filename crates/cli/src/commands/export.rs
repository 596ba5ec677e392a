use crate::answer::{Answer, Failure};
use crate::args::ExportArgs;
pub(crate) fn run(_args: &ExportArgs, _m: crate::Manner) -> Result<Answer, Failure> {
    Err(Failure::input("todo"))
}
