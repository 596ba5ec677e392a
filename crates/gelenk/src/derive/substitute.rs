//! Expressions in place of parameters, put in before the derivation, so that everything derived has them.

use gelenk_expr::{Expr, Node, Pool};
use gelenk_lagrange::System;
use gelenk_lagrange::system::{AlongKind, Law, LinkPoint, Motion, Row};

use super::DerivationError;

/// An expression over the system's parameters.
pub(super) fn parse(system: &mut System, text: &str) -> Result<Expr, DerivationError> {
    let input = |text: String| DerivationError::Input(text);
    let e =
        system.pool.parse(text).map_err(|error| input(format!("`{text}`: {}", error.message)))?;
    for part in system.pool.subexpressions(&[e]) {
        if matches!(system.pool.node(part), Node::Symbol(_))
            && !system.parameters.iter().any(|p| p.symbol == part)
        {
            let name = system.pool.display(part).to_string();
            return Err(input(unknown(system, &name)));
        }
    }
    Ok(e)
}

fn unknown(system: &System, name: &str) -> String {
    let names = system.parameters.iter().map(|p| p.name.as_str());
    let near = gelenk_expr::nearest(name, names.clone());
    match near {
        Some(near) => format!("there is no parameter `{name}`; did you mean `{near}`?"),
        None if system.parameters.is_empty() => {
            format!("there is no parameter `{name}`: the model has none")
        }
        None => {
            let all: Vec<&str> = names.collect();
            format!("there is no parameter `{name}`; there are {}", all.join(", "))
        }
    }
}

/// Replaces parameters in the whole system.
pub(super) fn substitute(
    system: &mut System,
    list: &[(String, String)],
) -> Result<(), DerivationError> {
    if list.is_empty() {
        return Ok(());
    }
    let mut pairs = Vec::new();
    for (name, value) in list {
        let Some(symbol) = system.parameters.iter().find(|p| p.name == *name).map(|p| p.symbol)
        else {
            return Err(DerivationError::Input(unknown(system, name)));
        };
        let value = parse(system, value)?;
        pairs.push((symbol, value));
    }
    let mut pool = std::mem::take(&mut system.pool);
    each(system, &mut |e| *e = pool.substitute(*e, &pairs));
    let values: Vec<(Expr, f64)> = system.parameters.iter().map(|p| (p.symbol, p.value)).collect();
    for parameter in &mut system.parameters {
        if let Some((_, value)) = pairs.iter().find(|(symbol, _)| *symbol == parameter.symbol) {
            parameter.value = number(&pool, *value, &values);
        }
    }
    system.pool = pool;
    Ok(())
}

fn number(pool: &Pool, e: Expr, values: &[(Expr, f64)]) -> f64 {
    pool.eval(e, |s| values.iter().find(|(symbol, _)| *symbol == s).map_or(f64::NAN, |(_, x)| *x))
}

/// Calls `f` on every expression of the system.
fn each(system: &mut System, f: &mut dyn FnMut(&mut Expr)) {
    system.gravity.iter_mut().for_each(&mut *f);
    for node in &mut system.nodes {
        node.offset.iter_mut().for_each(&mut *f);
        f(&mut node.value);
        match &mut node.motion {
            Motion::Fixed => {}
            Motion::Turn(v) | Motion::Slide(v) | Motion::Path(v) => {
                v.iter_mut().for_each(&mut *f);
            }
            Motion::Screw(v, lead) => {
                v.iter_mut().for_each(&mut *f);
                f(lead);
            }
        }
    }
    for link in &mut system.links {
        f(&mut link.mass);
        link.center.iter_mut().for_each(&mut *f);
        link.inertia.iter_mut().flatten().for_each(&mut *f);
    }
    for load in &mut system.loads {
        of_law(&mut load.law, f);
    }
    for row in system.closures.iter_mut().flat_map(|closure| &mut closure.rows) {
        of_row(row, f);
    }
}

fn of_points(points: &mut [LinkPoint], f: &mut dyn FnMut(&mut Expr)) {
    for point in points {
        point.place.iter_mut().for_each(&mut *f);
    }
}

fn of_law(law: &mut Law, f: &mut dyn FnMut(&mut Expr)) {
    match law {
        Law::Spring { ends, stiffness, length } => {
            of_points(ends, f);
            f(stiffness);
            f(length);
        }
        Law::Damper { ends, damping }
        | Law::FullDamper { ends, damping }
        | Law::BodyDamper { ends, damping } => {
            of_points(ends, f);
            f(damping);
        }
        Law::Along { displacement, force, kind } => {
            f(displacement);
            f(force);
            match kind {
                AlongKind::Spring(c, rest) => {
                    f(c);
                    f(rest);
                }
                AlongKind::Damper(d) => f(d),
                AlongKind::Drive => {}
            }
        }
        Law::Applied { point, force, torque, .. } => {
            of_points(std::slice::from_mut(point), f);
            force.iter_mut().chain(torque).for_each(f);
        }
        Law::Drag { point, linear, angular } => {
            of_points(std::slice::from_mut(point), f);
            f(linear);
            f(angular);
        }
        Law::RodTorque { ends, torque } => {
            of_points(ends, f);
            torque.iter_mut().for_each(f);
        }
    }
}

fn of_row(row: &mut Row, f: &mut dyn FnMut(&mut Expr)) {
    match row {
        Row::Along { ends, direction } => {
            of_points(ends, f);
            direction.iter_mut().for_each(f);
        }
        Row::Gap { ends, .. } => of_points(ends, f),
        Row::Right { directions, .. } => directions.iter_mut().flatten().for_each(f),
        Row::Distance { ends, length } => {
            of_points(ends, f);
            f(length);
        }
        Row::Surface { ends, axes, f: surface, .. } => {
            of_points(ends, f);
            if let Some(axes) = axes {
                axes.iter_mut().flatten().for_each(&mut *f);
            }
            f(surface);
        }
        Row::Equation(e) => f(e),
    }
}
