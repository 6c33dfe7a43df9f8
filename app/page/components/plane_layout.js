// Which points have room for a picture.

/** Of the points, in their order, those whose squares of this size do not overlap. It depends on the size alone, not on
 *  what is in the window: while one moves over the map, pictures stay. */
export function layout(points, size) {
  const taken = new Map(); // by row, then column, of a grid: at most one point lies in each cell
  const chosen = [];
  for (const point of points) {
    const column = Math.floor(point.x / size);
    const row = Math.floor(point.y / size);
    if (hasNeighbour(taken, point, column, row, size)) continue;
    if (!taken.has(row)) taken.set(row, new Map());
    taken.get(row).set(column, point);
    chosen.push(point);
  }
  return chosen;
}

function hasNeighbour(taken, { x, y }, column, row, size) {
  for (let down = row - 1; down <= row + 1; down++) {
    const cells = taken.get(down);
    if (!cells) continue;
    for (let right = column - 1; right <= column + 1; right++) {
      const other = cells.get(right);
      if (other && Math.abs(other.x - x) < size && Math.abs(other.y - y) < size) return true;
    }
  }
  return false;
}
