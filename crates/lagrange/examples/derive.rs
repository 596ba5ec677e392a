//! Derives a model of the gallery or a file and prints its equations: `cargo run --example derive -- double-pendulum`.

use gelenk_lagrange::{Options, from_model};
use gelenk_model::{LoadOptions, load_path, load_text};

#[expect(clippy::print_stdout, reason = "an example")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "double-pendulum".to_owned());
    let format = arguments.next().unwrap_or_else(|| "text".to_owned());
    let options = LoadOptions::default();
    let loaded = match gelenk_scenes::scene(&name) {
        Some(scene) => load_text(&name, scene.text, &options),
        None => load_path(std::path::Path::new(&name), &options),
    };
    let loaded = loaded.map_err(|faults| format!("{faults:?}"))?;
    let begin = std::time::Instant::now();
    let system = from_model(&loaded)?;
    let equations = system.derive(&Options::default())?;
    let time = begin.elapsed();
    match format.as_str() {
        "latex" => println!("{}", equations.latex(true)),
        "markdown" => println!("{}", equations.markdown()),
        "json" => println!("{:#}", equations.json()),
        "time" => {
            let operations = equations.closed.as_ref().map(|closed| closed.operations);
            println!("{name}: {:.3} ms, {operations:?} operations", time.as_secs_f64() * 1e3);
        }
        _ => println!("{}", equations.text()),
    }
    Ok(())
}
