use crate::answer::{Answer, Failure};
use crate::args::RunArgs;
pub(crate) fn run(_args: &RunArgs, _m: crate::Manner) -> Result<Answer, Failure> {
    Err(Failure::input("todo"))
}
