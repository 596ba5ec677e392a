use crate::answer::{Answer, Failure};
use crate::args::CheckArgs;
pub(crate) fn run(_args: &CheckArgs, _m: crate::Manner) -> Result<Answer, Failure> {
    Err(Failure::input("todo"))
}
