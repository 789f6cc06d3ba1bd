//! Very much output, made piece by piece while it is written: memory stays that of one piece.

/// A head, `left` items taken in turn from a short list, a tail.
#[derive(Debug)]
pub(super) struct Flood {
    head: Vec<u8>,
    items: Vec<Vec<u8>>,
    separator: &'static [u8],
    tail: Vec<u8>,
    index: u64,
    count: u64,
    begun: bool,
}

impl Flood {
    /// `count` messages, each one of `items` in turn.
    pub(super) fn of_messages(items: Vec<Vec<u8>>, count: u32) -> Self {
        Self { head: Vec::new(), items, separator: b"", tail: Vec::new(), index: 0, count: count.into(), begun: false }
    }

    /// One framed message whose array between `before` and `after` has `count` elements, each one of
    /// `items` in turn.
    pub(super) fn of_elements(before: &[u8], items: Vec<Vec<u8>>, after: &[u8], count: u32) -> Self {
        let count = u64::from(count);
        let cycle: u64 = items.iter().map(|item| item.len() as u64).sum();
        let per_cycle = items.len() as u64;
        let rest = usize::try_from(count % per_cycle.max(1)).unwrap_or(0);
        let rest: u64 = items[..rest].iter().map(|item| item.len() as u64).sum();
        let elements = count / per_cycle.max(1) * cycle + rest + count.saturating_sub(1);
        let length = before.len() as u64 + elements + after.len() as u64;
        let mut head = format!("Content-Length: {length}\r\n\r\n").into_bytes();
        head.extend_from_slice(before);
        Self { head, items, separator: b",", tail: after.to_vec(), index: 0, count, begun: false }
    }

    /// Appends pieces until about `bytes_max` bytes are there; `false` when nothing is left.
    pub(super) fn next(&mut self, bytes_max: usize, to: &mut Vec<u8>) -> bool {
        if !self.begun {
            self.begun = true;
            to.extend_from_slice(&self.head);
        }
        while self.index < self.count && to.len() < bytes_max {
            let turn = usize::try_from(self.index % self.items.len().max(1) as u64).unwrap_or(0);
            if self.index > 0 {
                to.extend_from_slice(self.separator);
            }
            to.extend_from_slice(self.items.get(turn).map_or(&[], Vec::as_slice));
            self.index += 1;
        }
        if self.index < self.count {
            return true;
        }
        to.append(&mut self.tail);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declared_length_is_the_real_one() {
        for (items, count) in [(1, 1), (1, 5), (3, 1), (3, 7), (3, 9)] {
            let items = (0..items).map(|item| vec![b'1'; item + 1]).collect();
            let mut flood = Flood::of_elements(b"{\"a\":[", items, b"]}", count);
            let mut bytes = Vec::new();
            while flood.next(0, &mut bytes) || flood.index < flood.count {
                let mut more = Vec::new();
                flood.next(1, &mut more);
                bytes.append(&mut more);
                if flood.index == flood.count {
                    break;
                }
            }
            let mut decoder = wire::Decoder::default();
            decoder.push(&bytes);
            let Some(wire::Decoded::Content(content)) = decoder.next() else { panic!("{count}: no frame") };
            let value: serde_json::Value = serde_json::from_slice(&content).unwrap();
            assert_eq!(value["a"].as_array().map(Vec::len), Some(count as usize));
            assert_eq!((decoder.held(), decoder.finish()), (0, None));
        }
    }
}
