//! Who may speak to the server: those who know the token, from the page that the server gave.
//!
//! A web page of somebody else can make the browser send requests here, but it cannot read the address with the token, it
//! cannot hide its own origin, and where it lets its own name point here (DNS rebinding) the `Host` header has that name.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, StatusCode};

use crate::token::same;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It asks for a host that is not this one.
    Host,
    /// It comes from another page.
    Origin,
    /// It does not know the token.
    Token,
}

impl Refusal {
    /// Status and a sentence for people.
    pub(crate) fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Refusal::Host => (StatusCode::MISDIRECTED_REQUEST, "this server has another name\n"),
            Refusal::Origin => {
                (StatusCode::FORBIDDEN, "other pages may not speak to this server\n")
            }
            Refusal::Token => (
                StatusCode::FORBIDDEN,
                "open the address that gelenk view has printed; it ends with a token\n",
            ),
        }
    }
}

/// Whether a request may pass: its path (`/TOKEN/...`) and headers.
pub(crate) fn check(
    path: &str,
    headers: &HeaderMap,
    token: &str,
    here: SocketAddr,
) -> Result<(), Refusal> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("\0"));
    let host = text("host").ok_or(Refusal::Host)?;
    // Two different hosts are one too many.
    if headers.get_all("host").iter().count() != 1 || !is_here(host, here) {
        return Err(Refusal::Host);
    }
    if let Some(origin) = text("origin")
        && origin.strip_prefix("http://") != Some(host)
    {
        return Err(Refusal::Origin);
    }
    // Browsers say where a request comes from; links that a person follows are `none`.
    if let Some(site) = text("sec-fetch-site")
        && !matches!(site, "same-origin" | "none")
    {
        return Err(Refusal::Origin);
    }
    let given = path.strip_prefix('/').and_then(|rest| rest.split('/').next()).unwrap_or("");
    if same(given, token) { Ok(()) } else { Err(Refusal::Token) }
}

/// Whether a `Host` header names this server: an address (names can be made to point anywhere) or `localhost`, and the
/// right port. A server on the loopback answers to loopback addresses alone.
fn is_here(host: &str, here: SocketAddr) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && !port.ends_with(']') => (name, port),
        _ => (host, "80"),
    };
    if port.parse() != Ok(here.port()) {
        return false;
    }
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || !here.ip().is_loopback(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(path: &str, headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().expect("a header"));
        }
        check(path, &map, "00ff", "127.0.0.1:8777".parse().expect("an address"))
    }

    #[test]
    fn only_the_page_itself_may_ask() {
        let host = ("host", "127.0.0.1:8777");
        assert_eq!(ask("/00ff/", &[host]), Ok(()));
        assert_eq!(ask("/00ff/ws", &[("host", "localhost:8777")]), Ok(()));
        assert_eq!(ask("/00ff/", &[("host", "[::1]:8777")]), Ok(()));
        let origin = ("origin", "http://127.0.0.1:8777");
        assert_eq!(ask("/00ff/ws", &[host, origin]), Ok(()));
        for path in ["/", "/00fe/", "/00ff0/", "/00f/", "/x/00ff/", ""] {
            assert_eq!(ask(path, &[host]), Err(Refusal::Token), "{path}");
        }
        for bad in [
            "evil.example:8777",
            "evil.example",
            "127.0.0.1:80",
            "127.0.0.1",
            "127.0.0.1.evil.example:8777",
            "192.168.0.2:8777",
            "localhost.evil.example:8777",
            "",
            ":8777",
            "[::1]",
        ] {
            assert_eq!(ask("/00ff/", &[("host", bad)]), Err(Refusal::Host), "{bad}");
        }
        assert_eq!(ask("/00ff/", &[]), Err(Refusal::Host));
        assert_eq!(ask("/00ff/", &[host, ("host", "evil.example:8777")]), Err(Refusal::Host));
        for bad in
            ["http://evil.example", "null", "https://127.0.0.1:8777", "http://127.0.0.1:8778"]
        {
            assert_eq!(ask("/00ff/ws", &[host, ("origin", bad)]), Err(Refusal::Origin), "{bad}");
        }
        assert_eq!(ask("/00ff/", &[host, ("sec-fetch-site", "cross-site")]), Err(Refusal::Origin));
        assert_eq!(ask("/00ff/", &[host, ("sec-fetch-site", "none")]), Ok(()));
    }
}
