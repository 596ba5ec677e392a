//! `gelenk models`: the gallery.

use serde_json::json;

use crate::answer::{Answer, Failure};
use crate::args::ModelsArgs;
use crate::show::{self, BOLD, HINT, styled};
use crate::text::{Align, Table};

pub(crate) fn run(args: &ModelsArgs) -> Result<Answer, Failure> {
    match &args.name {
        None => Ok(list()),
        Some(name) => one(name),
    }
}

fn list() -> Answer {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    for scene in gelenk::scenes::SCENES {
        table.row([scene.name, scene.summary]);
    }
    let text = format!(
        "{}\n{}\n{}  gelenk run pendulum\n       gelenk models pendulum > my.toml\n",
        styled(BOLD, "The gallery"),
        table.render(show::width()),
        styled(HINT, "next:"),
    );
    let models: Vec<_> = gelenk::scenes::SCENES
        .iter()
        .map(|scene| json!({ "name": scene.name, "summary": scene.summary }))
        .collect();
    Answer::done(json!({ "models": models }), text).asked()
}

fn one(name: &str) -> Result<Answer, Failure> {
    let Some(scene) = gelenk::scenes::scene(name) else {
        let failure = Failure::input(format!("the gallery has no model `{name}`"));
        let names = gelenk::scenes::SCENES.iter().map(|scene| scene.name);
        return Err(match gelenk::nearest(name, names) {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure.help("`gelenk models` lists what there is"),
        });
    };
    let json = json!({ "name": scene.name, "summary": scene.summary, "text": scene.text });
    Ok(Answer::done(json, scene.text.to_owned()).asked())
}
