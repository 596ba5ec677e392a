//! Triangles on a raster, nearest first, smoothed by four samples a pixel.

use crate::svg::Color;

/// A corner on the screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner {
    /// Pixels from the left.
    pub(super) x: f64,
    /// Pixels from the top.
    pub(super) y: f64,
    /// Larger is nearer; linear on the screen.
    pub(super) near: f64,
    /// Brightness; 1 is the colour itself.
    pub(super) shade: f64,
}

/// Samples along each side of a pixel.
const FINE: u32 = 2;

/// A picture in the making.
#[derive(Debug)]
pub(super) struct Canvas {
    width: u32,
    height: u32,
    /// Of every sample.
    near: Vec<f32>,
    color: Vec<[u8; 3]>,
}

impl Canvas {
    pub(super) fn new(width: u32, height: u32, paper: Color) -> Self {
        let samples = (width * FINE) as usize * (height * FINE) as usize;
        let Color(r, g, b) = paper;
        Canvas {
            width,
            height,
            near: vec![f32::NEG_INFINITY; samples],
            color: vec![[r, g, b]; samples],
        }
    }

    /// Draws a triangle, whichever way it is turned.
    pub(super) fn triangle(&mut self, corners: [Corner; 3], color: Color) {
        let fine = f64::from(FINE);
        let [a, b, c] = corners.map(|p| Corner { x: p.x * fine, y: p.y * fine, ..p });
        let area = (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y);
        if !area.is_finite() || area.abs() < 1e-9 {
            return;
        }
        let (wide, high) = (f64::from(self.width * FINE), f64::from(self.height * FINE));
        let span = |p: f64, q: f64, r: f64, end: f64| {
            let from = (p.min(q).min(r) - 0.5).ceil().clamp(0.0, end);
            let to = (p.max(q).max(r) + 0.5).floor().clamp(0.0, end);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "cut to the picture"
            )]
            let range = from as usize..to as usize;
            range
        };
        let row_length = (self.width * FINE) as usize;
        let columns = span(a.x, b.x, c.x, wide);
        for row in span(a.y, b.y, c.y, high) {
            let y = row as f64 + 0.5;
            for column in columns.clone() {
                let x = column as f64 + 0.5;
                let wa = ((b.x - x) * (c.y - y) - (c.x - x) * (b.y - y)) / area;
                let wb = ((c.x - x) * (a.y - y) - (a.x - x) * (c.y - y)) / area;
                let wc = 1.0 - wa - wb;
                if wa < 0.0 || wb < 0.0 || wc < 0.0 {
                    continue;
                }
                #[expect(clippy::cast_possible_truncation, reason = "depth of a picture")]
                let near = (wa * a.near + wb * b.near + wc * c.near) as f32;
                let at = row * row_length + column;
                if near > self.near[at] {
                    self.near[at] = near;
                    let shade = wa * a.shade + wb * b.shade + wc * c.shade;
                    self.color[at] = lit(color, shade);
                }
            }
        }
    }

    /// Bytes red, green, blue of all pixels, row by row.
    pub(super) fn pixels(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity((self.width * self.height * 3) as usize);
        let row_length = (self.width * FINE) as usize;
        for y in 0..self.height as usize {
            for x in 0..self.width as usize {
                let mut sum = [0u32; 3];
                for dy in 0..FINE as usize {
                    for dx in 0..FINE as usize {
                        let at = (y * FINE as usize + dy) * row_length + x * FINE as usize + dx;
                        for (total, part) in sum.iter_mut().zip(self.color[at]) {
                            *total += u32::from(part);
                        }
                    }
                }
                let half = FINE * FINE / 2;
                out.extend(
                    sum.map(|total| u8::try_from((total + half) / (FINE * FINE)).unwrap_or(255)),
                );
            }
        }
        out
    }
}

fn lit(color: Color, shade: f64) -> [u8; 3] {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut to a byte")]
    let light = |c: u8| (f64::from(c) * shade).round().clamp(0.0, 255.0) as u8;
    [light(color.0), light(color.1), light(color.2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Color = Color(200, 0, 0);
    const BLUE: Color = Color(0, 0, 200);

    fn corner(x: f64, y: f64, near: f64) -> Corner {
        Corner { x, y, near, shade: 1.0 }
    }

    fn pixel(canvas: &Canvas, x: usize, y: usize) -> [u8; 3] {
        let at = 3 * (y * canvas.width as usize + x);
        canvas.pixels()[at..at + 3].try_into().unwrap()
    }

    #[test]
    fn the_nearer_hides_the_farther() {
        let mut canvas = Canvas::new(16, 16, Color(255, 255, 255));
        canvas
            .triangle([corner(0.0, 0.0, 1.0), corner(16.0, 0.0, 1.0), corner(0.0, 16.0, 1.0)], RED);
        canvas.triangle(
            [corner(0.0, 0.0, 0.0), corner(16.0, 16.0, 0.0), corner(0.0, 16.0, 0.0)],
            BLUE,
        );
        assert_eq!(pixel(&canvas, 3, 3), [200, 0, 0]);
        assert_eq!(pixel(&canvas, 5, 14), [0, 0, 200]);
        assert_eq!(pixel(&canvas, 14, 5), [255, 255, 255]);
        // Not finite, without area, far outside: nothing happens.
        canvas.triangle(
            [corner(f64::NAN, 0.0, 9.0), corner(1.0, 0.0, 9.0), corner(0.0, 1.0, 9.0)],
            BLUE,
        );
        canvas
            .triangle([corner(0.0, 0.0, 9.0), corner(1.0, 1.0, 9.0), corner(2.0, 2.0, 9.0)], BLUE);
        canvas
            .triangle([corner(1e9, 0.0, 9.0), corner(2e9, 1.0, 9.0), corner(1e9, 2e9, 9.0)], BLUE);
        assert_eq!(pixel(&canvas, 3, 3), [200, 0, 0]);
    }
}
