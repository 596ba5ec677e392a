//! From operations to instructions: fuse, order, assign registers.

use super::build::{Operation, Program, Value};
use super::quick::Quick;
use super::{Instruction, Op, Tape};
use crate::error::CompileError;

/// Turns operations into a tape. What no output needs is left out.
pub(super) fn allocate(mut list: Program, n_inputs: usize) -> Result<Tape, CompileError> {
    let limit = u32::MAX as usize;
    if list.operations.len().saturating_add(list.constants.len()).saturating_add(n_inputs) >= limit
    {
        return Err(CompileError::TooLarge);
    }
    fuse(&mut list);
    let order = schedule(&list);
    let (constants, constant_register) = used_constants(&list, &order);
    let first_input = constants.len();
    let mut registers = Registers::new(first_input + n_inputs);
    let last_use = last_uses(&list, &order);
    let mut assigned = vec![u32::MAX; list.operations.len()];
    let mut code = Vec::with_capacity(order.len());
    let register = |value: Value, assigned: &[u32]| match value {
        Value::Constant(i) => constant_register[i as usize],
        Value::Input(i) => index(first_input) + i,
        Value::Result(i) => assigned[i as usize],
    };
    for (position, &i) in order.iter().enumerate() {
        let operation = &list.operations[i as usize];
        let [a, b, c] = operation.args.map(|value| register(value, &assigned));
        // Arguments are read before the target is written, so their registers are free.
        for (k, &value) in operation.used().iter().enumerate() {
            if let Value::Result(j) = value
                && last_use[j as usize] == position
                && !operation.args[..k].contains(&value)
            {
                registers.free.push(assigned[j as usize]);
            }
        }
        let target = registers.take();
        assigned[i as usize] = target;
        code.push(Instruction { op: operation.op, target, a, b, c });
    }
    let outputs: Vec<u32> = list.outputs.iter().map(|&value| register(value, &assigned)).collect();
    let quick = Quick::new(&code, &outputs, registers.n);
    Ok(Tape { code, quick, constants, n_inputs, n_registers: registers.n, outputs })
}

/// Makes a·b ± c one instruction where the product has no other use. The rounding stays that
/// of two operations; only the dispatch is saved.
fn fuse(list: &mut Program) {
    let order = schedule(list);
    let mut uses = vec![0u32; list.operations.len()];
    let all = order.iter().flat_map(|&i| list.operations[i as usize].used());
    for value in all.chain(&list.outputs) {
        if let Value::Result(j) = *value {
            uses[j as usize] += 1;
        }
    }
    for &i in &order {
        let Operation { op, args: [x, y, _] } = list.operations[i as usize];
        let product = |value: Value| match value {
            Value::Result(j) if uses[j as usize] == 1 => {
                let operation = list.operations[j as usize];
                (operation.op == Op::Mul).then_some(operation.args)
            }
            _ => None,
        };
        let fused = match op {
            Op::Add => product(y)
                .map(|[a, b, _]| (Op::MulAdd, [a, b, x]))
                .or_else(|| product(x).map(|[a, b, _]| (Op::MulAdd, [a, b, y]))),
            Op::Sub => product(y)
                .map(|[a, b, _]| (Op::SubMul, [a, b, x]))
                .or_else(|| product(x).map(|[a, b, _]| (Op::MulSub, [a, b, y]))),
            _ => None,
        };
        if let Some((op, args)) = fused {
            list.operations[i as usize] = Operation { op, args };
        }
    }
}

/// The needed operations, each after its arguments and as late as possible: depth first from
/// the outputs, which keeps few values alive at a time.
fn schedule(list: &Program) -> Vec<u32> {
    let mut seen = vec![false; list.operations.len()];
    let mut order = Vec::with_capacity(list.operations.len());
    let mut stack: Vec<(u32, usize)> = Vec::new();
    for &output in &list.outputs {
        let mut next = Some(output);
        loop {
            if let Some(Value::Result(i)) = next.take()
                && !std::mem::replace(&mut seen[i as usize], true)
            {
                stack.push((i, 0));
            }
            let Some((i, argument)) = stack.last_mut() else { break };
            let operation = &list.operations[*i as usize];
            // The third argument of a fused sum is the sum so far: it goes first.
            let n = operation.used().len();
            if *argument < n {
                next = Some(operation.args[n - 1 - *argument]);
                *argument += 1;
            } else {
                order.push(*i);
                stack.pop();
            }
        }
    }
    order
}

/// For each operation the position in `order` at which its result is read last; results that
/// are outputs are never released.
fn last_uses(list: &Program, order: &[u32]) -> Vec<usize> {
    let mut last = vec![usize::MAX; list.operations.len()];
    for (position, &i) in order.iter().enumerate() {
        for value in list.operations[i as usize].used() {
            if let Value::Result(j) = *value {
                last[j as usize] = position;
            }
        }
    }
    for value in &list.outputs {
        if let Value::Result(j) = *value {
            last[j as usize] = usize::MAX;
        }
    }
    last
}

/// The constants that are read, and the register of each original one.
fn used_constants(list: &Program, order: &[u32]) -> (Vec<f64>, Vec<u32>) {
    let mut register = vec![u32::MAX; list.constants.len()];
    let mut constants = Vec::new();
    let all = order.iter().flat_map(|&i| list.operations[i as usize].used());
    for value in all.chain(&list.outputs) {
        if let Value::Constant(i) = *value
            && register[i as usize] == u32::MAX
        {
            register[i as usize] = index(constants.len());
            constants.push(list.constants[i as usize]);
        }
    }
    (constants, register)
}

struct Registers {
    n: usize,
    free: Vec<u32>,
}

impl Registers {
    fn new(n: usize) -> Self {
        Self { n, free: Vec::new() }
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.n += 1;
            index(self.n - 1)
        })
    }
}

fn index(n: usize) -> u32 {
    u32::try_from(n).expect("counted in `allocate`")
}
