"""How long the generated Rust and C take for one evaluation of q'', with the residual of M q'' + bias = 0 beside it.

    cargo build --release -p gelenk-cli
    python3 evaluate.py ../../target/release/gelenk [model ...]

Models are trees of the gallery; robot-arm (six axes with servos) and three-link-arm unless named. Needs rustc and cc.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

RUST = """
const PARAMETERS: [f64; %(inputs)d - 2 * %(n)d - 1] = %(parameters)s;

fn point(shift: f64) -> [f64; %(inputs)d] {
    std::array::from_fn(|i| if i > 2 * %(n)d { PARAMETERS[i - 2 * %(n)d - 1] } else { 0.3 + 0.1 * i as f64 + shift })
}

fn main() {
    const N: usize = %(n)d;
    let mut worst = 0.0_f64;
    let mut best = f64::INFINITY;
    let mut sum = 0.0;
    for round in 0..20 {
        let begin = std::time::Instant::now();
        for k in 0..20_000 {
            let x = point(1e-6 * (k * (round + 1)) as f64);
            sum += std::hint::black_box(%(name)s_accelerations(std::hint::black_box(&x)))[0];
        }
        best = best.min(begin.elapsed().as_secs_f64() / 20_000.0);
        let x = point(0.01 * round as f64);
        let (a, m, b) = (%(name)s_accelerations(&x), %(name)s_mass(&x), %(name)s_bias(&x));
        for i in 0..N {
            let forces = (0..N).map(|j| m[i * N + j] * a[j]);
            let size = b[i].abs() + forces.clone().map(f64::abs).sum::<f64>();
            worst = worst.max((forces.sum::<f64>() + b[i]).abs() / size);
        }
    }
    println!("Rust {:.3} us an evaluation, residual {worst:.1e} of the forces ({sum:.3})", best * 1e6);
}
"""

C = """
#include <stdio.h>
#include <time.h>
static const double parameters[] = {%(list)s 0};
int main(void) {
    double best = 1e9, sum = 0;
    for (int round = 0; round < 20; round++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int k = 0; k < 20000; k++) {
            double x[%(inputs)d], out[%(n)d];
            for (int i = 0; i < %(inputs)d; i++) x[i] = i > 2 * %(n)d ? parameters[i - 2 * %(n)d - 1] : 0.3 + 0.1 * i + 1e-6 * (k * (round + 1));
            %(name)s_accelerations(x, out);
            sum += out[0];
        }
        clock_gettime(CLOCK_MONOTONIC, &b);
        double spent = (b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec)) / 20000;
        if (spent < best) best = spent;
    }
    printf("C    %%.3f us an evaluation (%%.3f)\\n", best * 1e6, sum);
}
"""

gelenk = sys.argv[1]
for model in sys.argv[2:] or ["robot-arm", "three-link-arm"]:
    derived = json.loads(subprocess.run([gelenk, "derive", model, "--json"], check=True, capture_output=True).stdout)
    n = len(derived["coordinates"])
    # Behind q, q', t and the parameters stand the forces of motors, if there are any: they are 0 here.
    code = subprocess.run([gelenk, "derive", model, "--format", "rust"], check=True, capture_output=True, text=True).stdout
    values = [float(v) for v in derived["parameters"].values()]
    values += [0.0] * (int(re.search(r"x: &\[f64; (\d+)\]", code)[1]) - 2 * n - 1 - len(values))
    put = {"n": n, "inputs": 2 * n + 1 + len(values), "name": model.replace("-", "_"), "parameters": values,
           "list": "".join(f"{v!r}, " for v in values)}
    print(f"{model}: {n} coordinates, derived in {derived['derivation_seconds'] * 1e3:.1f} ms", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for language, main, build in (("rust", RUST, ["rustc", "-O", "-A", "warnings", "--edition", "2024"]),
                                      ("c", C, ["cc", "-O2", "-w"])):
            source = folder / f"main.{'rs' if language == 'rust' else 'c'}"
            subprocess.run([gelenk, "derive", model, "--format", language, "--output", source], check=True,
                           capture_output=True)
            source.write_text(source.read_text() + main % put)
            program = folder / language
            subprocess.run(build + [source, "-o", program] + ["-lm"] * (language == "c"), check=True)
            print("  " + subprocess.run([program], check=True, capture_output=True, text=True).stdout.strip(), flush=True)
