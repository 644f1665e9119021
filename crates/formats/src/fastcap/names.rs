//! Names of conductors: they hold within a chain of surfaces joined by `+`, and N lines give
//! conductors further names.

use std::collections::HashMap;

use mesh::disjoint::DisjointSets;

/// What a conductor is called in the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Net {
    /// Its own name, which conductors of other groups may have as well.
    pub name: String,
    /// The group of lines joined by `+` that it is in: `GROUP1` and so on, or as a G line says.
    pub group: String,
}

/// The conductors so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The number of each chain by its name.
    chains: HashMap<String, usize>,
    /// The conductor that a name means in a chain.
    known: HashMap<(usize, String), usize>,
    conductors: Vec<Conductor>,
    /// Which of them are one, having got one name.
    same: DisjointSets,
}

/// The conductors of all files.
pub(super) struct Finished {
    /// Their names, with the chain's where a name occurs in several chains.
    pub(super) names: Vec<String>,
    pub(super) nets: Vec<Net>,
    /// For each number that was given out the index of its conductor among them.
    pub(super) renumbered: Vec<usize>,
}

#[derive(Debug)]
struct Conductor {
    /// The name given last.
    name: String,
    chain: String,
}

impl Names {
    fn chain(&mut self, chain: &str) -> usize {
        if let Some(&number) = self.chains.get(chain) {
            return number;
        }
        let number = self.chains.len();
        self.chains.insert(chain.to_owned(), number);
        number
    }

    /// The conductor called `name` in a chain, a new one if there is none.
    pub(super) fn conductor(&mut self, chain: &str, name: &str) -> usize {
        let number = self.chain(chain);
        let key = (number, name.to_owned());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let conductor = self.same.push() as usize;
        self.conductors.push(Conductor { name: name.to_owned(), chain: chain.to_owned() });
        self.known.insert(key, conductor);
        conductor
    }

    /// Gives the conductor called `old` in a chain the name `new`, by which it is known from now on
    /// as well; if another one has that name, the two are one. Whether there is a conductor called
    /// `old`.
    pub(super) fn rename(&mut self, chain: &str, old: &str, new: &str) -> bool {
        let number = self.chain(chain);
        let Some(&index) = self.known.get(&(number, old.to_owned())) else { return false };
        let known = *self.known.entry((number, new.to_owned())).or_insert(index);
        let root = self.same.join(index as u32, known as u32);
        self.conductors[root as usize].name = new.to_owned();
        true
    }

    /// All conductors.
    pub(super) fn finish(mut self) -> Finished {
        let roots: Vec<usize> =
            (0..self.conductors.len() as u32).map(|index| self.same.root(index) as usize).collect();
        let mut uses: HashMap<&str, usize> = HashMap::new();
        let kept = || roots.iter().enumerate().filter(|(index, root)| index == *root);
        for (index, _) in kept() {
            *uses.entry(&self.conductors[index].name).or_default() += 1;
        }
        let (mut names, mut nets) = (Vec::new(), Vec::new());
        let mut position = vec![0; roots.len()];
        for (index, _) in kept() {
            position[index] = names.len();
            let Conductor { name, chain, .. } = &self.conductors[index];
            nets.push(Net { name: name.clone(), group: chain.clone() });
            names.push(if uses[name.as_str()] == 1 {
                name.clone()
            } else {
                format!("{name}%{chain}")
            });
        }
        let renumbered = roots.into_iter().map(|root| position[root]).collect();
        Finished { names, nets, renumbered }
    }
}
