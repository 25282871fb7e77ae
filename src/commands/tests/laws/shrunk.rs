//! Makes a history shorter that breaks a law.

use super::{Broken, Step, World};

/// Plays a history; the error has the number of the step that broke a law.
fn play(options: &str, steps: &[Step]) -> Result<(), (usize, Broken)> {
    let mut world = World::new(options);
    for (at, step) in steps.iter().enumerate() {
        world.step(step).map_err(|broken| (at, broken))?;
    }
    Ok(())
}

/// The shortest history that breaks the same law.
pub(crate) fn shrunk(
    options: &str,
    mut steps: Vec<Step>,
    mut broken: Broken,
) -> (Vec<Step>, Broken) {
    let law = broken.chars().next();
    // Longest parts first: most steps have nothing to do with it.
    loop {
        let shorter = (0..steps.len()).rev().find_map(|at| {
            let mut fewer = steps.clone();
            fewer.remove(at);
            let (end, broken) = play(options, &fewer).err()?;
            fewer.truncate(end + 1);
            (broken.chars().next() == law).then_some((fewer, broken))
        });
        match shorter {
            Some(shorter) => (steps, broken) = shorter,
            None => return (steps, broken),
        }
    }
}
