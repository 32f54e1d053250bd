"use strict";
// What pools remember, in closed form: longpass.theory in the page's own script.
// Tests hold every function equal to its namesake there.
(() => {
  const filters = {};
  (typeof longpass === "undefined" ? globalThis : longpass).filters = filters;

  // Rates base^-n, fastest first.
  filters.rates = (base, pools) => Array.from({ length: pools }, (_, n) => Math.pow(base, -(n + 1)));

  // [A, c] of p_t = A p_{t-1} + c h_t. In a chain A is lower triangular and has no negative entry.
  filters.transition = (rates, wiring) => {
    const k = rates.length;
    const A = Array.from({ length: k }, () => new Float64Array(k));
    if (wiring === "parallel") {
      rates.forEach((rate, n) => { A[n][n] = 1 - rate; });
      return [A, Float64Array.from(rates)];
    }
    const c = new Float64Array(k);
    for (let i = 0; i < k; i++) {
      let product = 1 - rates[i];
      for (let n = i; n < k; n++) {
        if (n > i) product *= rates[n];
        A[n][i] = product;
      }
      c[i] = (i ? c[i - 1] : 1) * rates[i];
    }
    return [A, c];
  };

  const multiply = (A, B) => {
    const k = A.length;
    const C = Array.from({ length: k }, () => new Float64Array(k));
    for (let i = 0; i < k; i++) {
      for (let j = 0; j < k; j++) {
        for (let l = 0; l < k; l++) C[i][j] += A[i][l] * B[l][j];
      }
    }
    return C;
  };
  const transpose = (A) => A.map((_, i) => Float64Array.from(A, (row) => row[i]));
  const apply = (A, x) => Float64Array.from(A, (row) => row.reduce((sum, value, i) => sum + value * x[i], 0));

  // The function from an age to what an input of 1 that long ago adds to each pool now, up to `last`.
  // It is A^t c by repeated squaring: sums of positive terms, at any age.
  const makeResponse = (rates, wiring, last) => {
    const [A, c] = filters.transition(rates, wiring);
    const squares = [A];
    while (Math.pow(2, squares.length) <= last) squares.push(multiply(squares.at(-1), squares.at(-1)));
    return (time) => {
      let state = c;
      for (let bit = 0, rest = time; rest > 0; bit++, rest = Math.floor(rest / 2)) {
        if (rest % 2) state = apply(squares[bit], state);
      }
      return state;
    };
  };

  // What an input of 1, t steps ago, adds to each pool now, for each of `times`: [pool][time].
  filters.impulseResponse = (rates, times, wiring) => {
    const at = makeResponse(rates, wiring, Math.max(...times));
    const out = rates.map(() => new Float64Array(times.length));
    times.forEach((time, place) => at(time).forEach((value, pool) => { out[pool][place] = value; }));
    return out;
  };

  // The age at which each pool's response is largest, the earliest if tied, and its value there.
  // Responses of a chain rise to one peak: it is the first t with K_{n-1}[t+1] <= K_n[t].
  filters.peaks = (rates, wiring) => {
    if (wiring === "parallel") return rates.map((rate) => [0, rate]);
    const delays = filters.meanDelay(rates, wiring);
    const spreads = filters.spread(rates, wiring);
    const last = Math.ceil(delays.at(-1) + 2 * spreads.at(-1)) + 2;
    const at = makeResponse(rates, wiring, last);
    return rates.map((rate, n) => {
      let low = 0;
      let high = n ? Math.ceil(delays[n] + 2 * spreads[n]) + 1 : 0;
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        if (at(middle + 1)[n - 1] <= at(middle)[n]) high = middle; else low = middle + 1;
      }
      return [low, at(low)[n]];
    });
  };

  // The norm of each pool's whole impulse response: its deviation if inputs are white noise.
  // The Gramian is the sum of A^t c c' A'^t, by doubling the number of terms until nothing is added.
  filters.norms = (rates, wiring) => {
    let [A, c] = filters.transition(rates, wiring);
    let gramian = rates.map((_, i) => Float64Array.from(rates, (_, j) => c[i] * c[j]));
    for (let doubling = 0; doubling < 200; doubling++) {
      const more = multiply(multiply(A, gramian), transpose(A));
      const grown = rates.some((_, i) => more[i][i] > 1e-17 * gramian[i][i]);
      gramian = gramian.map((row, i) => row.map((value, j) => value + more[i][j]));
      if (!grown) break;
      A = multiply(A, A);
    }
    return gramian.map((row, i) => Math.sqrt(row[i]));
  };

  // The gain of each pool at angular frequencies: [pool][frequency].
  filters.gain = (rates, omegas, wiring) => {
    let before = omegas.map(() => 1);
    return rates.map((a) => {
      const own = omegas.map((w, i) => {
        // |1 - (1 - a) e^-iw|^2 without the cancellation of 1 - cos w.
        const square = a * a + 4 * (1 - a) * Math.sin(w / 2) ** 2;
        return (wiring === "chain" ? before[i] : 1) * a / Math.sqrt(square);
      });
      before = own;
      return own;
    });
  };

  const accumulate = (values, wiring) => {
    let sum = 0;
    return values.map((value) => (wiring === "chain" ? (sum += value) : value));
  };

  // Mean age, in steps, of what each pool holds, and its standard deviation.
  filters.meanDelay = (rates, wiring) => accumulate(rates.map((a) => (1 - a) / a), wiring);
  filters.spread = (rates, wiring) =>
    accumulate(rates.map((a) => (1 - a) / (a * a)), wiring).map(Math.sqrt);

  // The fewest pools whose last one reaches back `horizon` steps on average.
  filters.poolsFor = (horizon, base, wiring) => {
    let pools = 1;
    let reach = base - 1;
    while (reach < horizon) {
      pools += 1;
      const delay = Math.pow(base, pools) - 1;
      reach = wiring === "parallel" ? delay : reach + delay;
    }
    return pools;
  };
})();
