// How components describe their state, to compare two moments of a run and to move it in time.
//
// Each component has one function `visit_state(visitor, ...)` that hands every field to a visitor,
// with its meaning. Of the two visitors (fold/shortcuts/state_visitors.hpp) one records what the
// future of the run depends on, the other moves the state to a later time. A field is:
//
//   same(x)                decides something and stays as it is
//   node(actor, x)         a node, counted from those that its actor has ended
//   chunk_number(class, x) a chunk, counted from those made in the communicator class
//   priority(actor, x)     counted from the next that the actor gives
//   tag(x)                 of a message of a node; all move alike
//   count(x)               counts and decides nothing
//   count(x, period)       counts and decides by its remainder
//   must(condition)        else the moment cannot be described
//   word(x)                says how the rest is read: a size, say
//   fixed(x)               never changes, or only where the run ends
//   scratch(x)             means nothing between two ticks
//   elsewhere(x)           compared and moved by the visitor, by name
//
// A field that is not handed over fails to compile (structured bindings); one taken out and not
// handed over fails a test (fields_of, below).
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace yantra {

namespace detail {

struct AnyField {
    template <class T>
    operator T() const;
};

template <class T, std::size_t... index>
constexpr bool has_fields(std::index_sequence<index...>) {
    return requires { T{(static_cast<void>(index), AnyField{})...}; };
}

}  // namespace detail

// How many fields an aggregate has.
template <class T, std::size_t most = 40>
constexpr std::size_t fields_of() {
    if constexpr (detail::has_fields<T>(std::make_index_sequence<most>{})) {
        return most;
    } else {
        return fields_of<T, most - 1>();
    }
}

}  // namespace yantra
