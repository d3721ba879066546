// How a component's state is described to those who compare two moments of a run, and move it on.
//
// Each component has one function `visit_state(visitor, ...)` that hands every field of its state to a
// visitor, with what the field is. Two visitors go through it (fold/shortcuts/state_visitors.hpp): one
// writes down what the future of the run depends on, the other moves the state to a later time. What
// a field is:
//
//   same(x)                decides something and stays what it is
//   node(actor, x)         a node, counted from the nodes that its actor has ended
//   chunk_number(class, x) the number of a chunk, counted from those made in the communicator class
//   priority(actor, x)     a priority, counted from the next that the actor gives
//   tag(x)                 of a message of a node; all of them move on alike
//   count(x)               counts on and decides nothing
//   count(x, period)       counts on and decides by its remainder
//   must(condition)        else the moment is one that is not described
//   word(x)                a number that says how the rest is to be read: a size, say
//   fixed(x)               never changes, or changes only where the run ends
//   scratch(x)             means nothing between two ticks
//   elsewhere(x)           is compared and moved by the one who compares, by name
//
// A field that no function hands over does not compile, for they take their structs apart by structured
// bindings; one that is taken out and not handed over fails a test (fields_of, below).
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

// How many fields a struct has that is initialised by a list of them.
template <class T, std::size_t most = 40>
constexpr std::size_t fields_of() {
    if constexpr (detail::has_fields<T>(std::make_index_sequence<most>{})) {
        return most;
    } else {
        return fields_of<T, most - 1>();
    }
}

}  // namespace yantra
