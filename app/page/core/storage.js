// What the browser keeps for the page. Where it may keep nothing, as with cookies blocked, it lasts as long as the
// page.

export const ofTab = storage(() => sessionStorage);
export const ofBrowser = storage(() => localStorage);

function storage(find) {
  try {
    return find();
  } catch {
    const kept = new Map();
    return {
      getItem: (name) => kept.get(name) ?? null,
      setItem: (name, value) => kept.set(name, value),
      removeItem: (name) => kept.delete(name),
    };
  }
}
