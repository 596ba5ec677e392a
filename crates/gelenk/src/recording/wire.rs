//! The little of the protobuf wire format that recordings need: <https://protobuf.dev/programming-guides/encoding/>.

/// Writes protobuf fields one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoder {
    pub(crate) bytes: Vec<u8>,
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

impl Encoder {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push((value & 0x7f) as u8);
    }

    fn key(&mut self, field: u32, wire_type: u64) {
        self.varint(u64::from(field) << 3 | wire_type);
    }

    /// A `uint64`, `int32` ≥ 0 or enum field.
    pub(crate) fn uint(&mut self, field: u32, value: u64) {
        self.key(field, VARINT);
        self.varint(value);
    }

    /// A `double` field; written even where it is zero.
    pub(crate) fn double(&mut self, field: u32, value: f64) {
        self.key(field, FIXED64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A `bytes`, `string` or message field.
    pub(crate) fn field(&mut self, field: u32, content: &[u8]) {
        self.key(field, BYTES);
        self.varint(content.len() as u64);
        self.bytes.extend_from_slice(content);
    }

    /// A packed `repeated double` field of `n` values.
    pub(crate) fn packed(&mut self, field: u32, n: usize, values: impl Iterator<Item = f64>) {
        self.key(field, BYTES);
        self.varint(8 * n as u64);
        let start = self.bytes.len();
        values.for_each(|value| self.bytes.extend_from_slice(&value.to_le_bytes()));
        debug_assert_eq!(self.bytes.len() - start, 8 * n);
    }
}

/// The value of one field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// `uint64`.
    Varint(u64),
    /// `double`.
    Double(f64),
    /// `bytes`, `string`, message or packed list.
    Bytes(&'a [u8]),
}

/// Reads fields one after the other; `None` in the item where the bytes are not protobuf.
#[derive(Clone, Debug)]
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Decoder { rest: bytes }
    }

    /// Bytes that are not read yet.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(head)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = u64::from(*self.take(1)?.first()?);
            value |= (byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let key = self.varint()?;
        let field = u32::try_from(key >> 3).ok()?;
        let value = match key & 7 {
            VARINT => Value::Varint(self.varint()?),
            FIXED64 => Value::Double(f64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            BYTES => {
                let n = usize::try_from(self.varint()?).ok()?;
                Value::Bytes(self.take(n)?)
            }
            FIXED32 => Value::Varint(u64::from(u32::from_le_bytes(self.take(4)?.try_into().ok()?))),
            _ => return None,
        };
        Some((field, value))
    }
}

impl<'a> Iterator for Decoder<'a> {
    type Item = Option<(u32, Value<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The doubles of a packed list; `None` where its length is no multiple of eight.
pub(crate) fn doubles(bytes: &[u8]) -> Option<Vec<f64>> {
    let (chunks, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| chunks.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_protobuf_manual() {
        // "Encoding", protobuf.dev: field 1 = 150 is 08 96 01; field 2 = "testing" is 12 07 74 ...
        let mut encoder = Encoder::default();
        encoder.uint(1, 150);
        encoder.field(2, b"testing");
        assert_eq!(encoder.bytes[..3], [0x08, 0x96, 0x01]);
        assert_eq!(encoder.bytes[3..], [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        let fields: Option<Vec<_>> = Decoder::new(&encoder.bytes).collect();
        assert_eq!(fields.unwrap(), [(1, Value::Varint(150)), (2, Value::Bytes(b"testing"))]);
    }

    #[test]
    fn broken_bytes_end_the_reading() {
        for bytes in [&[0x08][..], &[0x12, 0x07, 0x74], &[0xff; 11], &[0x0b], &[0x09, 1, 2]] {
            let fields: Vec<_> = Decoder::new(bytes).collect();
            assert_eq!(fields.last(), Some(&None), "{bytes:?}");
        }
        assert_eq!(doubles(&[0; 9]), None);
    }
}
