//! HTML as it is put together: text of others never becomes markup.

use std::fmt::Write as _;

use formats::printable::printable;

/// A part of a page.
#[derive(Clone, Debug, Default)]
pub struct Html(String);

impl Html {
    /// Adds markup of this program's own.
    pub(super) fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_str(&escape(text));
        self
    }

    /// Adds an element without attributes that holds text.
    pub(super) fn element(&mut self, name: &str, text: &str) -> &mut Self {
        let _ = write!(self.0, "<{name}>{}</{name}>", escape(text));
        self
    }

    /// Adds a remark.
    pub(super) fn note(&mut self, text: &str) -> &mut Self {
        self.raw("<p class=\"note\">").text(text).raw("</p>\n")
    }

    /// Adds another part.
    pub(super) fn part(&mut self, part: &Self) -> &mut Self {
        self.raw(&part.0)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn into_text(self) -> String {
        self.0
    }
}

/// Text as HTML and XML hold it, also inside quoted attributes; what would act on a reader's screen
/// is written out.
pub fn escape(text: &str) -> String {
    let text = printable(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JSON inside a `script` element, which must not end it.
pub fn script_json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    // Outside of strings JSON has none of these.
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// A table with a header, names in the first column and numbers in the others; of wide ones the
/// header and the first column stay in sight.
pub fn table(header: &[impl AsRef<str>], rows: impl IntoIterator<Item = Vec<String>>) -> Html {
    let mut html = Html::default();
    html.raw("<div class=\"wide\" tabindex=\"0\"><table><thead><tr>");
    for name in header {
        html.raw("<th scope=\"col\">").text(name.as_ref());
    }
    html.raw("<tbody>\n");
    for row in rows {
        html.raw("<tr>");
        for (index, cell) in row.iter().enumerate() {
            html.raw(if index == 0 { "<th scope=\"row\">" } else { "<td>" }).text(cell);
        }
        html.raw("\n");
    }
    html.raw("</table></div>\n");
    html
}

/// A list of names, each with a few words.
pub(super) fn pairs(rows: impl IntoIterator<Item = (String, String)>) -> Html {
    let mut html = Html::default();
    html.raw("<table class=\"pairs\"><tbody>\n");
    for (name, value) in rows {
        html.raw("<tr><th scope=\"row\">").text(&name).raw("<td>").text(&value).raw("\n");
    }
    html.raw("</table>\n");
    html
}
