//! The Markdown that `derive` writes, as HTML: headings, lists, paragraphs, code in backticks, and formulas as MathML.

use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::{Parser, Storage, push_mathml};

use super::html::escape;

/// Markdown as HTML. What is no formula is text and nothing else.
pub(super) fn to_html(text: &str) -> String {
    let mut out = String::new();
    let mut listing = false;
    for block in text.lines() {
        let line = block.trim();
        if listing && !line.starts_with("- ") {
            out.push_str("</ul>\n");
            listing = false;
        }
        if line.is_empty() || line.starts_with("# ") {
            // The title is the report's own.
        } else if let Some(title) = line.strip_prefix("## ") {
            out.push_str(&format!("<h2>{}</h2>\n", inline(title)));
        } else if let Some(title) = line.strip_prefix("### ") {
            out.push_str(&format!("<h3>{}</h3>\n", inline(title)));
        } else if let Some(item) = line.strip_prefix("- ") {
            if !listing {
                out.push_str("<ul>\n");
                listing = true;
            }
            out.push_str(&format!("<li>{}</li>\n", inline(item)));
        } else if let Some(formula) =
            line.strip_prefix("$$").and_then(|rest| rest.strip_suffix("$$"))
        {
            out.push_str(&format!(
                "<div class=\"formula\">{}</div>\n",
                mathml(formula, DisplayMode::Block)
            ));
        } else {
            out.push_str(&format!("<p>{}</p>\n", inline(line)));
        }
    }
    if listing {
        out.push_str("</ul>\n");
    }
    out
}

/// A line with formulas between dollars and code between backticks.
fn inline(line: &str) -> String {
    let mut out = String::new();
    for (i, part) in line.split('$').enumerate() {
        if i % 2 == 1 {
            out.push_str(&mathml(part, DisplayMode::Inline));
            continue;
        }
        out.push_str(&with_code(part));
    }
    out
}

/// Text with code between backticks; a backtick without another is one.
pub(super) fn with_code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, (code, after))) = rest
        .split_once('`')
        .and_then(|(before, tail)| tail.split_once('`').map(|pair| (before, pair)))
    {
        out.push_str(&format!("{}<code>{}</code>", escape(before), escape(code)));
        rest = after;
    }
    out + &escape(rest)
}

/// A formula as MathML; one that cannot be read stays as it is.
fn mathml(latex: &str, display_mode: DisplayMode) -> String {
    // TeX's penalties say where lines may break; nothing else.
    let latex = latex.trim().replace("\\penalty200", "");
    let storage = Storage::new();
    let parser = Parser::new(&latex, &storage);
    let events: Result<Vec<_>, _> = parser.collect();
    let config = RenderConfig { display_mode, ..RenderConfig::default() };
    let mut out = String::new();
    if let Ok(events) = events {
        let events = events.into_iter().map(Ok::<_, std::convert::Infallible>);
        if push_mathml(&mut out, events, config).is_ok() {
            return out;
        }
    }
    format!("<code>{}</code>", escape(&latex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_mathml_and_texts_stay_texts() {
        let html = to_html(
            "# Title\n\n## Metric\n\n$$ g_{11} = \\frac{m}{3} $$\n\n- $q_{1}$: joint `<a>`, <b>\n\ntext & more",
        );
        assert!(html.contains("<h2>Metric</h2>"));
        assert!(html.contains("<math") && html.contains("<mfrac>"), "{html}");
        assert!(html.contains("<code>&lt;a&gt;</code>, &lt;b&gt;"), "{html}");
        assert!(html.contains("<p>text &amp; more</p>"));
        assert!(!html.contains("<b>") && !html.contains("Title"));
        assert_eq!(with_code("`a<b` and `c"), "<code>a&lt;b</code> and `c");
        // A name in a formula cannot break out of it.
        let evil = to_html("$$ \\text{<script>alert(1)</script>} $$\n\n$\\frac{$");
        assert!(!evil.contains("<script"), "{evil}");
    }

    /// Every formula of a model that `derive` writes is read.
    #[test]
    fn the_equations_of_a_model_are_typeset() {
        let text = gelenk::scenes::scene("double-pendulum").expect("in the gallery").text;
        let options = gelenk::model::LoadOptions::default();
        let loaded = gelenk::model::load_text("double-pendulum", text, &options).expect("a model");
        let options = gelenk::derive::DeriveOptions::default();
        let derivation = gelenk::derive::derive(&loaded, &options).expect("equations");
        let html = to_html(&derivation.markdown(&[]));
        assert!(html.matches("<math").count() > 15, "{html}");
        assert!(!html.contains("\\frac") || html.contains("annotation"), "{html}");
    }
}
