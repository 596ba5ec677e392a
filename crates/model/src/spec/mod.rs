//! The model language: what a file may say, as types.
//!
//! Each table of the language is one struct in [`tables`], written with the `spec!` macro. From that one
//! declaration come the Rust type, the reader over the TOML tree with positions, and the JSON Schema for editors, so
//! that none of them can disagree. Nothing here knows what the words mean; that is [`load`](crate::load)'s part.

mod read;
mod reference;
mod schema;
mod suggest;
pub mod tables;
mod values;

pub use reference::reference;
pub use schema::json_schema;
pub use values::{
    Direction, Named, NumberOrVector, OneOrMany, PerCoordinate, Scalar, ScalarSource, Text,
    Vec3Spec,
};

pub(crate) use read::{Fields, FromToml, Reader, Report, Value, read_keys, read_table};
pub(crate) use schema::Definitions;
pub(crate) use suggest::{did_you_mean, nearest};

/// Declares tables of the language.
///
/// ```text
/// spec! {
///     /// What the table is.
///     pub struct JointSpec("joint") {        // in brackets: what messages call it (left out: the table it is in)
///         /// What the key means.
///         name: Text,                        // required
///         kind as "type": Text,              // the key differs from the field
///         axis: Option<Vec3Spec>,            // optional
///         ..contents: Contents,              // all keys of another table
///     }
/// }
/// ```
/// The struct also gets `span`, the table's place in the file.
macro_rules! spec {
    ($(
        $(#[doc = $doc:literal])*
        pub struct $name:ident $(($element:literal))? {
            $(..$flat:ident : $flat_type:ty,)?
            $(
                $(#[doc = $field_doc:literal])*
                $field:ident $(as $key:literal)? : $type:ty,
            )*
        }
    )*) => { $(
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub struct $name {
            /// Its place in the file.
            pub span: $crate::source::Span,
            $(
                /// The keys it shares with other tables.
                pub $flat: $flat_type,
            )?
            $(
                $(#[doc = $field_doc])*
                pub $field: $type,
            )*
        }

        impl $crate::spec::Fields for $name {
            fn keys(keys: &mut Vec<&'static str>) {
                $(<$flat_type as $crate::spec::Fields>::keys(keys);)?
                $(keys.push(spec!(@key $field $($key)?));)*
            }

            fn element() -> Option<&'static str> {
                spec!(@element $($element)?)
            }

            #[allow(unused_variables, reason = "an empty table reads nothing")]
            fn read_fields(
                table: &toml::de::DeTable<'_>,
                span: $crate::source::Span,
                reader: &mut $crate::spec::Reader<'_>,
            ) -> Self {
                $name {
                    span,
                    $($flat: <$flat_type as $crate::spec::Fields>::read_fields(table, span, reader),)?
                    $($field: reader.field(table, span, spec!(@key $field $($key)?)),)*
                }
            }

            fn poisoned(span: $crate::source::Span) -> Self {
                $name {
                    span,
                    $($flat: <$flat_type as $crate::spec::Fields>::poisoned(span),)?
                    $($field: $crate::spec::FromToml::poison(span),)*
                }
            }

            fn properties(schema: &mut $crate::spec::Definitions) {
                $(<$flat_type as $crate::spec::Fields>::properties(schema);)?
                $(schema.property::<$type>(
                    spec!(@key $field $($key)?),
                    concat!($($field_doc, "\n"),*),
                );)*
            }
        }

        impl $crate::spec::FromToml for $name {
            fn read(
                value: &$crate::spec::Value<'_>,
                reader: &mut $crate::spec::Reader<'_>,
            ) -> Self {
                $crate::spec::read_table(value, reader)
            }

            fn poison(span: $crate::source::Span) -> Self {
                <Self as $crate::spec::Fields>::poisoned(span)
            }

            fn schema(schema: &mut $crate::spec::Definitions) -> serde_json::Value {
                schema.object::<Self>(stringify!($name), concat!($($doc, "\n"),*))
            }
        }
    )* };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@element) => { None };
    (@element $element:literal) => { Some($element) };
}
pub(crate) use spec;
