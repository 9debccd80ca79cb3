"""Flocking after C. Reynolds; after N. Rougier, From Python to NumPy, 5.2."""

import numpy as np


def limit(vectors, norms, largest):
    np.multiply(vectors, largest / norms, out=vectors, where=norms > largest)


np.random.seed(3)
n, width, height = 150, 640.0, 360.0
max_velocity, max_acceleration = 2.0, 0.03
angle = np.random.uniform(0, 2 * np.pi, n)
velocity = np.stack([np.cos(angle), np.sin(angle)], axis=1)
position = np.random.uniform(0, 1, (n, 2)) * (width / 2, height / 2) + (width / 4, height / 4)


def steer(target, count):
    norm = np.sqrt((target * target).sum(axis=1)).reshape(n, 1)
    np.divide(target * max_velocity, norm, out=target, where=norm != 0)
    target -= velocity
    norm = np.sqrt((target * target).sum(axis=1)).reshape(n, 1)
    limit(target, norm, max_acceleration)
    target *= count.reshape(n, 1) > 0
    return target


for step in range(20):
    dx = np.subtract.outer(position[:, 0], position[:, 0])
    dy = np.subtract.outer(position[:, 1], position[:, 1])
    distance = np.hypot(dx, dy)

    near = (distance > 0) & (distance < 25)
    flock = (distance > 0) & (distance < 50)
    near_count, flock_count = np.maximum(near.sum(1), 1), np.maximum(flock.sum(1), 1)

    alignment = np.dot(flock.astype(float), velocity) / flock_count.reshape(n, 1)
    centre = np.dot(flock.astype(float), position) / flock_count.reshape(n, 1)
    repulsion = np.dstack((dx, dy))
    np.divide(
        repulsion,
        distance.reshape(n, n, 1) ** 2,
        out=repulsion,
        where=distance.reshape(n, n, 1) != 0,
    )
    repulsion = (repulsion * near[..., None]).sum(axis=1) / near_count.reshape(n, 1)

    acceleration = 1.5 * steer(repulsion, near.sum(1))
    acceleration += steer(alignment, flock.sum(1))
    acceleration += steer(centre - position, flock.sum(1))

    velocity += acceleration
    speed = np.sqrt((velocity * velocity).sum(axis=1)).reshape(n, 1)
    limit(velocity, speed, max_velocity)
    position += velocity
    position += (width, height)
    position %= (width, height)

print(np.round(position.mean(axis=0), 6), np.round(speed.max(), 6), flock.sum())
