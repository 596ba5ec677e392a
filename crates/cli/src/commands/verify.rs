use crate::answer::{Answer, Failure};
use crate::args::VerifyArgs;
pub(crate) fn run(_args: &VerifyArgs, _m: crate::Manner) -> Result<Answer, Failure> {
    Err(Failure::input("todo"))
}
