//! `cargo bench -p gelenk` (with `-- NAME ... [--quick]`): what `gelenk bench` measures, and the allocations of a step beside it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints")]

use gelenk::bench::{BenchError, BenchOptions, GROUPS, bench};

fn main() -> Result<(), BenchError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    // Test runners ask what tests there are: none.
    if has("--list") {
        return Ok(());
    }
    // `cargo bench` adds --bench; `cargo test --benches` does not, and only wants to see it run.
    let quick = has("--quick") || !has("--bench");
    let mut names: Vec<&str> =
        args.iter().map(String::as_str).filter(|arg| !arg.starts_with("--")).collect();
    if names.is_empty() {
        names.extend(if has("--bench") { &GROUPS[..] } else { &["four-bars"] });
    }
    let count = |run: &mut dyn FnMut()| allocation_counter::measure(run).count_total;
    let watch = |what: &str| eprintln!("{what}");
    let options = BenchOptions { quick, count_allocations: Some(&count), watch: &watch };
    for name in names {
        let group = bench(name, &options)?;
        println!("{}: {}", group.name, group.about);
        for line in &group.lines {
            println!(
                "  {:14} {:9} order {}  h {:<8.5} s  {:9.2} us/step  {:8.0} x real time  {:6.2} corrections/step  \
                 gap {:.0e} m  energy {:.1e} J  {} allocations in {} steps{}",
                line.model,
                line.settings.solver,
                line.settings.order,
                line.settings.step,
                1e6 * line.seconds_per_step,
                line.real_time(),
                line.corrections_per_step,
                line.gap,
                line.energy,
                line.allocations.unwrap_or(0),
                line.steps - 1,
                line.position_error.map_or(String::new(), |e| format!("  {e:.1e} m off at 1 s")),
            );
        }
        if let Some(exponent) = group.exponent {
            println!("  time per step grows with the size to the power {exponent:.2}");
        }
        for line in &group.worlds {
            println!(
                "  {} worlds on {} thread(s): {:.0} world-steps/s, gain {:.2}, states {}",
                line.worlds,
                line.threads,
                line.steps_per_second,
                line.gain,
                &line.hash[..16]
            );
        }
    }
    Ok(())
}
