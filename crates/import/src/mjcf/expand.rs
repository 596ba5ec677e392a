//! What stands for other elements: `<include>` for a file, `<replicate>` for copies.

use std::path::Path;

use gelenk_model::math::{Quat, Vec3};

use super::options::Compiler;
use super::{attribute, euler};
use crate::context::Context;
use crate::xml::Element;

/// Elements that all replicas of a file may make.
const MOST_COPIES: usize = 1_000_000;

/// Puts included files in place of `<include>`; their paths count from the file they stand in, or else from the main file.
pub(super) fn include(
    context: &mut Context,
    root: Element,
    from: &Path,
    depth: usize,
) -> Option<Element> {
    let mut all = Vec::with_capacity(root.children.len());
    for child in root.children {
        if child.name != "include" {
            // Levels of elements are counted already; those of files are here.
            all.push(include(context, child, from, depth)?);
            continue;
        }
        if depth >= context.options.limits.depth {
            let message = format!(
                "files include one another more than {} deep",
                context.options.limits.depth
            );
            let help = "does a file include itself?";
            context.error("limit-depth", "include", child.span, message, help);
            return None;
        }
        let Some(file) = child.text("file") else {
            let help = "give `file`";
            context.error("missing-file", "include", child.span, "which file?", help);
            return None;
        };
        let (inner, folder) = context.read_include(file, from, child.span)?;
        let inner = include(context, inner, &folder, depth + 1)?;
        all.extend(inner.children);
    }
    Some(Element { children: all, ..root })
}

/// Puts copies in place of every `<replicate>`: each copy of its contents in a frame one `offset` and one rotation further on,
/// all names in it with the number of the copy at their end.
pub(super) fn replicate(context: &mut Context, element: &mut Element, compiler: &Compiler) {
    let mut left = MOST_COPIES;
    copies(context, element, compiler, &mut left);
}

fn copies(context: &mut Context, element: &mut Element, compiler: &Compiler, left: &mut usize) {
    let children = std::mem::take(&mut element.children);
    for mut child in children {
        copies(context, &mut child, compiler, left);
        if child.name != "replicate" {
            element.children.push(child);
            continue;
        }
        let called = child.called();
        let count = context.number(&child, "count").unwrap_or(0.0);
        if !(count >= 1.0) {
            let message = "the number of replicas is missing or not positive";
            let help = "give `count`, 1 or more";
            context.error("bad-count", called, child.span, message, help);
            continue;
        }
        let size = size_of(&child);
        let most = *left / size.max(1);
        // A count is an integer of 32 bits, as the table of elements sees to.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least 1, and no larger than 32 bits"
        )]
        let count = count as usize;
        if count > most {
            let message = format!("{count} replicas of {size} elements are too many");
            let help = "replicas may make a million elements";
            context.error("limit-replicas", called, child.span, message, help);
            continue;
        }
        *left -= count * size;
        let offset = context.vector(&child, "offset").unwrap_or_else(Vec3::zeros);
        let angles = context.vector(&child, "euler").unwrap_or_else(Vec3::zeros);
        let turn = euler(compiler.sequence, &(angles * compiler.angle));
        let digits = (count - 1).to_string().len();
        let separator = child.text("sep").unwrap_or("").to_owned();
        let (mut place, mut rotation) = (Vec3::zeros(), Quat::identity());
        for i in 0..count {
            let mut frame = child.clone();
            "frame".clone_into(&mut frame.name);
            let pos = format!("{:?} {:?} {:?}", place.x, place.y, place.z);
            let [w, x, y, z] = [rotation.w, rotation.i, rotation.j, rotation.k];
            let quat = format!("{w:?} {x:?} {y:?} {z:?}");
            frame.attributes =
                vec![attribute("pos", &pos, child.span), attribute("quat", &quat, child.span)];
            let end = format!("{separator}{i:0digits$}");
            frame.children.iter_mut().for_each(|inner| rename(inner, &end));
            element.children.push(frame);
            place += rotation * offset;
            rotation *= turn;
        }
    }
}

/// Adds an end to the names in an element.
fn rename(element: &mut Element, end: &str) {
    for attribute in element.attributes.iter_mut().filter(|a| a.name == "name") {
        attribute.value.push_str(end);
    }
    element.children.iter_mut().for_each(|child| rename(child, end));
}

/// Elements in an element, itself included.
fn size_of(element: &Element) -> usize {
    1 + element.children.iter().map(size_of).sum::<usize>()
}
