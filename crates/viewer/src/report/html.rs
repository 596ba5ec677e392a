//! The frame of a report's page.

use serde_json::Value;

use crate::page;

/// Text as HTML shows it.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// What reports have beside the page's own looks.
const STYLE: &str = include_str!("report.css");

/// Nothing may be loaded, whatever the file holds.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// A page with a title, sections and, at its top, the viewer.
pub(super) fn page(title: &str, subtitle: &str, body: &str, data: &Value, viewer: bool) -> String {
    // In a script element only `<` can end it; JSON may write it otherwise.
    let data = data.to_string().replace('<', "\\u003c");
    // The program is ours; it holds `</script` nowhere, and if it did, so it would be harmless.
    let script = page::SCRIPT.replace("</script", "<\\/script");
    let (title, subtitle) = (escape(title), escape(subtitle));
    let viewer = if viewer { "<main id=\"viewer\"></main>\n" } else { "" };
    let version = gelenk::VERSION;
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"dark light\">\n<title>{title} · Gelenk</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>\n{}\n{STYLE}</style>\n</head>\n<body class=\"report\">\n\
         <header class=\"top\"><h1>{title}</h1><p class=\"quiet\">{subtitle}</p></header>\n\
         {viewer}<article>\n{body}</article>\n\
         <footer class=\"quiet\">Written by gelenk {version}.</footer>\n\
         <script type=\"application/json\" id=\"gelenk-data\">{data}</script>\n\
         <script type=\"module\">{script}</script>\n</body>\n</html>\n",
        page::STYLE
    )
}
