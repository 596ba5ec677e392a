//! Colours by name.

/// Names with their colours, 0xRRGGBB: first our own, which are softer than those of CSS, then the rest of CSS (CSS Color 4, section 6.1).
const COLORS: [(&str, u32); 148] = [
    ("black", 0x00_00_00),
    ("white", 0xff_ff_ff),
    ("gray", 0x80_80_80),
    ("grey", 0x80_80_80),
    ("red", 0xd6_27_28),
    ("green", 0x2c_a0_2c),
    ("blue", 0x1f_77_b4),
    ("orange", 0xff_7f_0e),
    ("yellow", 0xf0_c8_08),
    ("purple", 0x94_67_bd),
    ("brown", 0x8c_56_4b),
    ("pink", 0xe3_77_c2),
    ("cyan", 0x17_be_cf),
    ("silver", 0xc0_c0_c0),
    ("aliceblue", 0xf0_f8_ff),
    ("antiquewhite", 0xfa_eb_d7),
    ("aqua", 0x00_ff_ff),
    ("aquamarine", 0x7f_ff_d4),
    ("azure", 0xf0_ff_ff),
    ("beige", 0xf5_f5_dc),
    ("bisque", 0xff_e4_c4),
    ("blanchedalmond", 0xff_eb_cd),
    ("blueviolet", 0x8a_2b_e2),
    ("burlywood", 0xde_b8_87),
    ("cadetblue", 0x5f_9e_a0),
    ("chartreuse", 0x7f_ff_00),
    ("chocolate", 0xd2_69_1e),
    ("coral", 0xff_7f_50),
    ("cornflowerblue", 0x64_95_ed),
    ("cornsilk", 0xff_f8_dc),
    ("crimson", 0xdc_14_3c),
    ("darkblue", 0x00_00_8b),
    ("darkcyan", 0x00_8b_8b),
    ("darkgoldenrod", 0xb8_86_0b),
    ("darkgray", 0xa9_a9_a9),
    ("darkgreen", 0x00_64_00),
    ("darkgrey", 0xa9_a9_a9),
    ("darkkhaki", 0xbd_b7_6b),
    ("darkmagenta", 0x8b_00_8b),
    ("darkolivegreen", 0x55_6b_2f),
    ("darkorange", 0xff_8c_00),
    ("darkorchid", 0x99_32_cc),
    ("darkred", 0x8b_00_00),
    ("darksalmon", 0xe9_96_7a),
    ("darkseagreen", 0x8f_bc_8f),
    ("darkslateblue", 0x48_3d_8b),
    ("darkslategray", 0x2f_4f_4f),
    ("darkslategrey", 0x2f_4f_4f),
    ("darkturquoise", 0x00_ce_d1),
    ("darkviolet", 0x94_00_d3),
    ("deeppink", 0xff_14_93),
    ("deepskyblue", 0x00_bf_ff),
    ("dimgray", 0x69_69_69),
    ("dimgrey", 0x69_69_69),
    ("dodgerblue", 0x1e_90_ff),
    ("firebrick", 0xb2_22_22),
    ("floralwhite", 0xff_fa_f0),
    ("forestgreen", 0x22_8b_22),
    ("fuchsia", 0xff_00_ff),
    ("gainsboro", 0xdc_dc_dc),
    ("ghostwhite", 0xf8_f8_ff),
    ("gold", 0xff_d7_00),
    ("goldenrod", 0xda_a5_20),
    ("greenyellow", 0xad_ff_2f),
    ("honeydew", 0xf0_ff_f0),
    ("hotpink", 0xff_69_b4),
    ("indianred", 0xcd_5c_5c),
    ("indigo", 0x4b_00_82),
    ("ivory", 0xff_ff_f0),
    ("khaki", 0xf0_e6_8c),
    ("lavender", 0xe6_e6_fa),
    ("lavenderblush", 0xff_f0_f5),
    ("lawngreen", 0x7c_fc_00),
    ("lemonchiffon", 0xff_fa_cd),
    ("lightblue", 0xad_d8_e6),
    ("lightcoral", 0xf0_80_80),
    ("lightcyan", 0xe0_ff_ff),
    ("lightgoldenrodyellow", 0xfa_fa_d2),
    ("lightgray", 0xd3_d3_d3),
    ("lightgreen", 0x90_ee_90),
    ("lightgrey", 0xd3_d3_d3),
    ("lightpink", 0xff_b6_c1),
    ("lightsalmon", 0xff_a0_7a),
    ("lightseagreen", 0x20_b2_aa),
    ("lightskyblue", 0x87_ce_fa),
    ("lightslategray", 0x77_88_99),
    ("lightslategrey", 0x77_88_99),
    ("lightsteelblue", 0xb0_c4_de),
    ("lightyellow", 0xff_ff_e0),
    ("lime", 0x00_ff_00),
    ("limegreen", 0x0032_cd32),
    ("linen", 0xfa_f0_e6),
    ("magenta", 0xff_00_ff),
    ("maroon", 0x80_00_00),
    ("mediumaquamarine", 0x66_cd_aa),
    ("mediumblue", 0x00_00_cd),
    ("mediumorchid", 0xba_55_d3),
    ("mediumpurple", 0x93_70_db),
    ("mediumseagreen", 0x3c_b3_71),
    ("mediumslateblue", 0x7b_68_ee),
    ("mediumspringgreen", 0x00_fa_9a),
    ("mediumturquoise", 0x48_d1_cc),
    ("mediumvioletred", 0xc7_15_85),
    ("midnightblue", 0x19_19_70),
    ("mintcream", 0xf5_ff_fa),
    ("mistyrose", 0xff_e4_e1),
    ("moccasin", 0xff_e4_b5),
    ("navajowhite", 0xff_de_ad),
    ("navy", 0x00_00_80),
    ("oldlace", 0xfd_f5_e6),
    ("olive", 0x80_80_00),
    ("olivedrab", 0x6b_8e_23),
    ("orangered", 0xff_45_00),
    ("orchid", 0xda_70_d6),
    ("palegoldenrod", 0xee_e8_aa),
    ("palegreen", 0x98_fb_98),
    ("paleturquoise", 0xaf_ee_ee),
    ("palevioletred", 0xdb_70_93),
    ("papayawhip", 0xff_ef_d5),
    ("peachpuff", 0xff_da_b9),
    ("peru", 0xcd_85_3f),
    ("plum", 0xdd_a0_dd),
    ("powderblue", 0xb0_e0_e6),
    ("rebeccapurple", 0x66_33_99),
    ("rosybrown", 0xbc_8f_8f),
    ("royalblue", 0x41_69_e1),
    ("saddlebrown", 0x8b_45_13),
    ("salmon", 0xfa_80_72),
    ("sandybrown", 0xf4_a4_60),
    ("seagreen", 0x2e_8b_57),
    ("seashell", 0xff_f5_ee),
    ("sienna", 0xa0_52_2d),
    ("skyblue", 0x87_ce_eb),
    ("slateblue", 0x6a_5a_cd),
    ("slategray", 0x70_80_90),
    ("slategrey", 0x70_80_90),
    ("snow", 0xff_fa_fa),
    ("springgreen", 0x00_ff_7f),
    ("steelblue", 0x46_82_b4),
    ("tan", 0xd2_b4_8c),
    ("teal", 0x00_80_80),
    ("thistle", 0xd8_bf_d8),
    ("tomato", 0xff_63_47),
    ("turquoise", 0x40_e0_d0),
    ("violet", 0xee_82_ee),
    ("wheat", 0xf5_de_b3),
    ("whitesmoke", 0xf5_f5_f5),
    ("yellowgreen", 0x009a_cd32),
];

/// The colour of a text, from 0 to 1: `#rrggbb`, `#rgb` or a name in any case.
pub(crate) fn color_from_text(text: &str) -> Option<[f64; 3]> {
    let hex = text.strip_prefix('#');
    let bits = match hex {
        Some(hex) if hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
            u32::from_str_radix(hex, 16).ok()?
        }
        Some(hex) if hex.len() == 3 && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
            let short = u32::from_str_radix(hex, 16).ok()?;
            let digit = |shift: u32| 0x11 * (short >> shift & 0xf);
            digit(8) << 16 | digit(4) << 8 | digit(0)
        }
        Some(_) => return None,
        None => COLORS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text))?.1,
    };
    Some([16, 8, 0].map(|shift| f64::from(bits >> shift & 0xff) / 255.0))
}

/// The names.
pub(crate) fn color_names() -> impl Iterator<Item = &'static str> + Clone {
    COLORS.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_those_of_css() {
        let mut names: Vec<&str> = color_names().collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), COLORS.len()), (148, 148));
        assert_eq!(
            color_from_text("RebeccaPurple"),
            Some([0x66, 0x33, 0x99].map(|x| f64::from(x) / 255.0))
        );
        assert_eq!(color_from_text("#f80"), color_from_text("#ff8800"));
        assert_eq!(color_from_text("#ff88"), None);
    }
}
