use crate::answer::{Answer, Failure};
use crate::args::ConvergeArgs;
pub(crate) fn run(_args: &ConvergeArgs, _m: crate::Manner) -> Result<Answer, Failure> {
    Err(Failure::input("todo"))
}
