// JSON lists as Python's repr() of lists, as Chakra files hold them. Trade-off: only simple items
// (strings without escapes, numbers spelled as Python does); others are left to Python.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace yantra {

// Returns the place after the value at `at`, or npos.
inline std::size_t python_string(std::string_view json, std::size_t at, std::string& out) {
    const std::size_t begin = ++at;
    while (at < json.size() && json[at] != '"') {
        const auto c = static_cast<unsigned char>(json[at]);
        if (c < 0x20 || c > 0x7e || c == '\\' || c == '\'') {
            return std::string_view::npos;
        }
        ++at;
    }
    if (at == json.size()) {
        return std::string_view::npos;
    }
    out += '\'';
    out += json.substr(begin, at - begin);
    out += '\'';
    return at + 1;
}

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Appends the digits after 0. as repr() does.
inline void python_small(std::string_view fraction, std::string& out) {
    const std::size_t first = fraction.find_first_not_of('0');
    if (first == std::string_view::npos || first < 4) {
        out += "0.";
        out += fraction;
        return;
    }
    out += fraction[first];
    if (first + 1 < fraction.size()) {
        out += '.';
        out += fraction.substr(first + 1);
    }
    const std::size_t exponent = first + 1;
    out += "e-";
    out += static_cast<char>('0' + exponent / 10);
    out += static_cast<char>('0' + exponent % 10);
}

// A whole number, or a fraction of at most 15 digits, which a double holds.
inline std::size_t python_number(std::string_view json, std::size_t at, std::string& out) {
    const std::size_t begin = at;
    at += json[at] == '-' ? 1 : 0;
    const std::size_t whole = at;
    while (at < json.size() && is_digit(json[at])) {
        ++at;
    }
    const std::size_t digits = at - whole;
    const bool zero = digits == 1 && json[whole] == '0';
    if (digits == 0 || (digits > 1 && json[whole] == '0')) {
        return std::string_view::npos;
    }
    const std::size_t point = at;
    std::size_t end = at;  // end of what is written
    if (at < json.size() && json[at] == '.') {
        while (++at < json.size() && is_digit(json[at])) {
        }
        const std::size_t places = at - point - 1;
        if (places == 0 || digits + places > 15) {
            return std::string_view::npos;
        }
        for (end = at; end > point + 2 && json[end - 1] == '0';) {
            --end;
        }
    } else if (zero && whole != begin) {
        return std::string_view::npos;  // -0 is 0 in Python
    }
    if (at < json.size() && (json[at] == 'e' || json[at] == 'E')) {
        return std::string_view::npos;
    }
    if (zero && end > point) {
        out += json.substr(begin, whole - begin);
        python_small(json.substr(point + 1, end - point - 1), out);
    } else {
        out += json.substr(begin, end - begin);
    }
    return at;
}

inline std::size_t skip_space(std::string_view json, std::size_t at) {
    while (at < json.size() &&
           (json[at] == ' ' || json[at] == '\n' || json[at] == '\r' || json[at] == '\t')) {
        ++at;
    }
    return at;
}

inline std::size_t python_word(std::string_view json, std::size_t at, std::string& out) {
    constexpr std::string_view words[][2] = {
        {"true", "True"}, {"false", "False"}, {"null", "None"}};
    for (const auto& [from, to] : words) {
        if (json.substr(at).starts_with(from)) {
            out += to;
            return at + from.size();
        }
    }
    return std::string_view::npos;
}

inline std::size_t python_list(std::string_view json, std::size_t at, std::string& out) {
    std::size_t depth = 0;
    bool value = true;  // a value or the end of the list may come, not a comma
    bool comma = false;
    do {
        at = skip_space(json, at);
        if (at >= json.size()) {
            return std::string_view::npos;
        }
        const char c = json[at];
        if (c == ']' && depth > 0 && !comma) {
            out += ']';
            --depth;
            ++at;
            value = false;
            continue;
        }
        if (!value) {
            if (c != ',') {
                return std::string_view::npos;
            }
            out += ", ";
            value = comma = true;
            ++at;
            continue;
        }
        comma = false;
        if (c == '[') {
            out += '[';
            ++depth;
            ++at;
            continue;
        }
        value = false;
        at = c == '"'                    ? python_string(json, at, out)
             : c == '-' || is_digit(c)   ? python_number(json, at, out)
                                         : python_word(json, at, out);
        if (at == std::string_view::npos || depth == 0) {
            return std::string_view::npos;
        }
    } while (depth > 0);
    return at;
}

// Reuse one to keep its memory.
class IoTexts {
public:
    std::string values;
    std::string shapes;
    std::string types;

    // False if the object needs Python.
    bool read(std::string_view json) {
        values = shapes = types = "[]";
        std::size_t at = skip_space(json, 0);
        if (at >= json.size() || json[at] != '{') {
            return false;
        }
        do {
            at = field(json, skip_space(json, at + 1));
            if (at == std::string_view::npos) {
                return false;
            }
            at = skip_space(json, at);
        } while (at < json.size() && json[at] == ',');
        return at < json.size() && json[at] == '}' && skip_space(json, at + 1) == json.size();
    }

private:
    std::size_t field(std::string_view json, std::size_t at) {
        key_.clear();
        if (at >= json.size() || json[at] != '"' ||
            (at = python_string(json, at, key_)) == std::string_view::npos) {
            return std::string_view::npos;
        }
        at = skip_space(json, at);
        if (at >= json.size() || json[at] != ':') {
            return std::string_view::npos;
        }
        at = skip_space(json, at + 1);
        if (at >= json.size() || json[at] != '[') {
            return std::string_view::npos;
        }
        std::string& out = key_ == "'values'"   ? values
                           : key_ == "'shapes'" ? shapes
                           : key_ == "'types'"  ? types
                                                : other_;
        out.clear();
        return python_list(json, at, out);
    }

    std::string key_;
    std::string other_;
};

}  // namespace yantra
