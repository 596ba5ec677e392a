//! Values that may be written in more than one way.

use serde_json::{Value as Json, json};
use toml::de::DeValue;

use crate::source::Span;
use crate::spec::{
    Definitions, Direction, FromToml, OneOrMany, Reader, Scalar, Text, Vec3Spec, spec,
};

spec! {
    /// A parameter with its unit and bounds.
    pub struct ParameterTable {
        /// Its value.
        value: Scalar,
        /// Its unit, for people.
        unit: Option<Text>,
        /// Smallest sensible value.
        min: Option<Scalar>,
        /// Largest sensible value.
        max: Option<Scalar>,
        /// What it is, for people.
        description: Option<Text>,
    }

    /// A rotation: about an axis, by Euler angles, or one that takes a direction into another.
    pub struct RotationTable {
        /// Axis; any length but zero. [0, 1, 0], or "y", "-y", ...
        axis: Option<Direction>,
        /// Angle about the axis, rad.
        angle: Option<Scalar>,
        /// Angle about the axis, degrees.
        angle_deg: Option<Scalar>,
        /// Angles about the fixed axes x, then y, then z (roll, pitch, yaw), rad.
        euler: Option<Vec3Spec>,
        /// The same in degrees.
        euler_deg: Option<Vec3Spec>,
        /// A direction of the turned thing; z if left out.
        from: Option<Vec3Spec>,
        /// Where that direction points after the shortest turn.
        to: Option<Vec3Spec>,
    }

    /// An inertia tensor by its entries, kg m².
    pub struct InertiaTable {
        /// About x.
        xx: Scalar,
        /// About y.
        yy: Scalar,
        /// About z.
        zz: Scalar,
        /// Off the diagonal; 0 if left out.
        xy: Option<Scalar>,
        /// Off the diagonal; 0 if left out.
        xz: Option<Scalar>,
        /// Off the diagonal; 0 if left out.
        yz: Option<Scalar>,
    }

    /// A curve: points of a spline, or formulas in `u`.
    pub struct CurveSpec {
        /// Points on a cubic spline, m.
        points: Vec<Vec3Spec>,
        /// x, y, z as expressions in the curve parameter `u`, m.
        formula: Option<Vec3Spec>,
        /// Range of u; [0, 1] if left out.
        range: Option<[Scalar; 2]>,
        /// Its end joins its start.
        closed: Option<bool>,
    }
}

/// A parameter: a number, an expression, or a table.
#[derive(Clone, Debug)]
pub struct ParameterSpec(pub ParameterTable);

impl FromToml for ParameterSpec {
    fn read(value: &crate::spec::Value<'_>, reader: &mut Reader<'_>) -> Self {
        if value.get_ref().is_table() {
            return ParameterSpec(ParameterTable::read(value, reader));
        }
        let span = reader.span(value);
        let value = Scalar::read(value, reader);
        ParameterSpec(ParameterTable { value, ..ParameterTable::poison(span) })
    }

    fn poison(span: Span) -> Self {
        ParameterSpec(ParameterTable::poison(span))
    }

    fn schema(schema: &mut Definitions) -> Json {
        json!({ "anyOf": [Scalar::schema(schema), ParameterTable::schema(schema)] })
    }
}

/// A rotation: a quaternion [w, x, y, z], or a table.
#[derive(Clone, Debug)]
pub enum RotationSpec {
    /// w, x, y, z of any length but zero.
    Quaternion(Span, Box<[Scalar; 4]>),
    /// In words.
    Table(Box<RotationTable>),
}

impl RotationSpec {
    /// Its place in the file.
    pub fn span(&self) -> Span {
        match self {
            RotationSpec::Quaternion(span, _) => *span,
            RotationSpec::Table(table) => table.span,
        }
    }
}

impl FromToml for RotationSpec {
    fn read(value: &crate::spec::Value<'_>, reader: &mut Reader<'_>) -> Self {
        match value.get_ref() {
            DeValue::Array(_) => RotationSpec::Quaternion(
                reader.span(value),
                Box::new(FromToml::read(value, reader)),
            ),
            DeValue::Table(_) => RotationSpec::Table(Box::new(FromToml::read(value, reader))),
            _ => {
                reader.wrong_type(
                    value,
                    "a quaternion [w, x, y, z] or a table such as { axis = [0, 0, 1], angle_deg = 90 }",
                );
                Self::poison(reader.span(value))
            }
        }
    }

    fn poison(span: Span) -> Self {
        RotationSpec::Quaternion(span, Box::new(FromToml::poison(span)))
    }

    fn schema(schema: &mut Definitions) -> Json {
        json!({ "anyOf": [<[Scalar; 4]>::schema(schema), RotationTable::schema(schema)] })
    }
}

/// Moments of inertia: three principal moments, a 3×3 tensor, or its entries by name.
#[derive(Clone, Debug)]
pub struct InertiaSpec {
    /// Its place in the file.
    pub span: Span,
    /// The tensor, row by row; `None`: zero.
    pub tensor: [[Option<Scalar>; 3]; 3],
}

impl FromToml for InertiaSpec {
    fn read(value: &crate::spec::Value<'_>, reader: &mut Reader<'_>) -> Self {
        let span = reader.span(value);
        let tensor = match value.get_ref() {
            DeValue::Array(rows) if rows.iter().any(|row| row.get_ref().is_array()) => {
                <[Vec3Spec; 3]>::read(value, reader).map(|row| row.map(Some))
            }
            DeValue::Array(_) => {
                let [x, y, z] = Vec3Spec::read(value, reader);
                [[Some(x), None, None], [None, Some(y), None], [None, None, Some(z)]]
            }
            DeValue::Table(_) => {
                let t = InertiaTable::read(value, reader);
                [
                    [Some(t.xx), t.xy.clone(), t.xz.clone()],
                    [t.xy, Some(t.yy), t.yz.clone()],
                    [t.xz, t.yz, Some(t.zz)],
                ]
            }
            _ => {
                reader.wrong_type(value, "three moments, a 3×3 tensor or a table { xx, yy, zz }");
                return Self::poison(span);
            }
        };
        InertiaSpec { span, tensor }
    }

    fn poison(span: Span) -> Self {
        let mut tensor: [[Option<Scalar>; 3]; 3] = Default::default();
        tensor[0][0] = Some(Scalar::poison(span));
        InertiaSpec { span, tensor }
    }

    fn schema(schema: &mut Definitions) -> Json {
        json!({ "anyOf": [
            Vec3Spec::schema(schema),
            <[Vec3Spec; 3]>::schema(schema),
            InertiaTable::schema(schema),
        ] })
    }
}

/// A scale: one factor, or one along each axis.
#[derive(Clone, Debug)]
pub struct ScaleSpec(pub Vec3Spec);

impl FromToml for ScaleSpec {
    fn read(value: &crate::spec::Value<'_>, reader: &mut Reader<'_>) -> Self {
        if value.get_ref().is_array() {
            return ScaleSpec(FromToml::read(value, reader));
        }
        let factor = Scalar::read(value, reader);
        ScaleSpec([factor.clone(), factor.clone(), factor])
    }

    fn poison(span: Span) -> Self {
        ScaleSpec(FromToml::poison(span))
    }

    fn schema(schema: &mut Definitions) -> Json {
        <OneOrMany<Scalar>>::schema(schema)
    }
}

/// Any value, for tools that read it themselves.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its place in the file.
    pub span: Span,
    /// What is written there, as JSON.
    pub json: Json,
}

impl FromToml for Value {
    fn read(value: &crate::spec::Value<'_>, reader: &mut Reader<'_>) -> Self {
        Value { span: reader.span(value), json: to_json(value.get_ref()) }
    }

    fn poison(span: Span) -> Self {
        Value { span, json: Json::Null }
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({})
    }
}

/// The value as JSON; the nesting is limited before any value is read.
fn to_json(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(x) => {
            i64::from_str_radix(x.as_str(), x.radix()).map_or(Json::Null, Json::from)
        }
        DeValue::Float(x) => x.as_str().parse::<f64>().map_or(Json::Null, Json::from),
        DeValue::Boolean(b) => (*b).into(),
        DeValue::Datetime(date) => date.to_string().into(),
        DeValue::Array(values) => values.iter().map(|v| to_json(v.get_ref())).collect(),
        DeValue::Table(table) => {
            let entries =
                table.iter().map(|(k, v)| (k.get_ref().to_string(), to_json(v.get_ref())));
            Json::Object(entries.collect())
        }
    }
}
