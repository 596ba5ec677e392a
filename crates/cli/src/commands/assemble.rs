use crate::answer::{Answer, Failure};
use crate::args::AssembleArgs;
pub(crate) fn run(_args: &AssembleArgs, _m: crate::Manner) -> Result<Answer, Failure> {
    Err(Failure::input("todo"))
}
