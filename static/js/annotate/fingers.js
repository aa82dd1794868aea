/** Whether fingers point here, as on phones: hints about keys would be of no use. */
export const hasFingers = () => matchMedia("(pointer: coarse)").matches;
