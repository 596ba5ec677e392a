//! Circuits and their elements.

use crate::spec::{Scalar, Text, spec};

spec! {
    /// A closed circuit. The charge that has flowed round it is a coordinate, like that of a joint; `charge.NAME` and
    /// `current.NAME` in expressions.
    pub struct CircuitSpec("circuit") {
        /// Unique among bodies and joints.
        name: Text,
        /// Charge at the start, C; 0 if left out.
        charge: Option<Scalar>,
        /// Current at the start, A; 0 if left out.
        current: Option<Scalar>,
    }

    /// An inductor. Every circuit needs one of its own.
    pub struct InductorSpec("inductor") {
        /// Unique name; `inductor1`, `inductor2`, ... if left out.
        name: Option<Text>,
        /// The circuit that it lies in.
        circuit: Text,
        /// A second circuit, whose current flows through it the other way.
        against: Option<Text>,
        /// Inductance, H.
        inductance: Scalar,
    }

    /// A capacitor.
    pub struct CapacitorSpec("capacitor") {
        /// Unique name; `capacitor1`, `capacitor2`, ... if left out.
        name: Option<Text>,
        /// The circuit that it lies in.
        circuit: Text,
        /// A second circuit, whose current flows through it the other way.
        against: Option<Text>,
        /// Capacitance, F; over positions and joint coordinates it pulls at them.
        capacitance: Scalar,
    }

    /// A resistor.
    pub struct ResistorSpec("resistor") {
        /// Unique name; `resistor1`, `resistor2`, ... if left out.
        name: Option<Text>,
        /// The circuit that it lies in.
        circuit: Text,
        /// A second circuit, whose current flows through it the other way.
        against: Option<Text>,
        /// Resistance, Ω.
        resistance: Scalar,
    }

    /// A source of voltage.
    pub struct SourceSpec("source") {
        /// Unique name; `source1`, `source2`, ... if left out.
        name: Option<Text>,
        /// The circuit that it lies in.
        circuit: Text,
        /// A second circuit, whose current flows through it the other way.
        against: Option<Text>,
        /// Voltage that drives the current, V.
        voltage: Scalar,
    }

    /// A coupling of a circuit to the motion, such as a coil in the field of a magnet: the flux that it links.
    pub struct CouplingSpec("coupling") {
        /// Unique name; `coupling1`, `coupling2`, ... if left out.
        name: Option<Text>,
        /// The circuit.
        circuit: Text,
        /// A second circuit, whose current flows through it the other way.
        against: Option<Text>,
        /// Linked flux over positions, joint coordinates and time, Wb: its rate is a voltage against the current, and the current times
        /// its slopes are forces.
        flux: Scalar,
    }
}
