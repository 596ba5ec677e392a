"""The mechanisms that all programs run: chains of thin uniform rods of 1 kg/m in the plane y = 0, gravity 9.81 m/s² along -z."""
import math


def eight_loop():
    """Eight rods of 1 m between two points 6 m apart: the gallery's eight-loop. Points (x, z), and whether the last one is held."""
    s = math.sqrt(0.5)
    points = [(float(x), 0.0) for x in (0, 1, 2, 3, 2, 3, 4, 5, 6)]
    points[4] = (3.0 - s, -s)
    return points, True


def chain(n):
    """n links of 0.1 m in a horizontal line, held at one end."""
    return [(0.1 * k, 0.0) for k in range(n + 1)], False


def angles(points):
    """Angle of each rod about y: its direction is (cos a, -sin a) in (x, z)."""
    return [math.atan2(-(q[1] - p[1]), q[0] - p[0]) for p, q in zip(points, points[1:])]


def lengths(points):
    return [math.hypot(q[0] - p[0], q[1] - p[1]) for p, q in zip(points, points[1:])]


def energy(lengths, centres, velocities, rates):
    """Kinetic and potential energy: centres and velocities as (x, z), rates of turn about y."""
    return sum(
        0.5 * m * (v[0] ** 2 + v[1] ** 2) + m**3 / 24.0 * w**2 + 9.81 * m * c[1]
        for m, c, v, w in zip(lengths, centres, velocities, rates)
    )
