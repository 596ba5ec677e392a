//! Derives a model of the gallery or a file and prints its equations: `cargo run --example derive -- double-pendulum`.

use gelenk_lagrange::write::{Style, write};
use gelenk_lagrange::{Options, from_model};
use gelenk_model::{LoadOptions, load_path, load_text};

#[expect(clippy::print_stdout, reason = "an example")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "double-pendulum".to_owned());
    let options = LoadOptions::default();
    let loaded = match gelenk_scenes::scene(&name) {
        Some(scene) => load_text(&name, scene.text, &options),
        None => load_path(std::path::Path::new(&name), &options),
    };
    let loaded = loaded.map_err(|faults| format!("{faults:?}"))?;
    let begin = std::time::Instant::now();
    let system = from_model(&loaded)?;
    let seated = begin.elapsed();
    let equations = system.derive(&Options::default())?;
    println!("{:.3} ms, {:.3} ms", seated.as_secs_f64() * 1e3, begin.elapsed().as_secs_f64() * 1e3);
    let Some(closed) = &equations.closed else {
        println!("{}", equations.too_large.map_or_else(String::new, |e| e.to_string()));
        return Ok(());
    };
    let text = |e| write(equations.pool(), e, Style::Text);
    if closed.operations < 3000 {
        for (i, row) in closed.g.iter().enumerate() {
            for (j, e) in row.iter().enumerate().skip(i) {
                if text(*e) != "0" {
                    println!("g_{i}{j} = {}", text(*e));
                }
            }
        }
        for (r, m) in closed.gamma.iter().enumerate() {
            for (i, row) in m.iter().enumerate() {
                for (j, e) in row.iter().enumerate().skip(i) {
                    if text(*e) != "0" {
                        println!("G_{}{i}{j} = {}", r + 1, text(*e));
                    }
                }
            }
        }
        for (i, e) in closed.q.iter().enumerate() {
            println!("Q_{} = {}", i + 1, text(*e));
        }
        for (n, c) in &closed.closures {
            println!("0 = {}   ({n})", text(*c));
        }
        println!("U = {}", text(closed.potential));
        println!("D = {}", text(closed.dissipation));
    }
    println!("{} operations", closed.operations);
    Ok(())
}
