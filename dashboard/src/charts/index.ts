/** Charts: small, own, and usable outside the dashboard (the report uses them, too). */
export { type Bar, BarList } from "./bars";
export { LineChart, type Series } from "./line";
export { indexAt, type Points, type Range, TimeScale, valueAt, valueTicks } from "./scale";
export { Sparkline } from "./sparkline";
export { useWidth } from "./width";
