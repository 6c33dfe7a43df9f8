// Many calls, a few at a time.

/** Does work(item) for each item, in their order, atOnce of them at the same time. */
export async function several(items, atOnce, work) {
  const rest = [...items];
  const worker = async () => {
    while (rest.length) await work(rest.shift());
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
