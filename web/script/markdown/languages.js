// What the colouring knows of languages. line and block: comments; strings end with their line, long ones need not.
const words = (text) => new Set(text.trim().split(/\s+/));
const none = {line: [], block: {}, strings: [], long: {}, keywords: new Set(), ignoreCase: false};
const quotes = ['"', "'"];
const slashes = {...none, line: ['//'], block: {'/*': '*/'}, strings: quotes};

// Braces and semicolons: C, C++, Java, C#, Go, Rust, Kotlin, Swift.
const braces = {
  ...slashes,
  keywords: words(`
    abstract alignas alignof and as asm async auto await bool break byte case catch chan char class co_await co_return
    co_yield companion concept const consteval constexpr continue crate data default defer delete do double dyn else enum
    explicit export extends extern fallthrough false final float fn for foreach friend fun func go goto guard if impl
    implements import in inline instanceof int interface internal is let long loop map match mod move mut mutable
    namespace native new nil noexcept not null nullptr object operator or override package private protected protocol pub
    public range readonly record ref register requires return sealed select self Self short signed sizeof static
    static_assert string struct super suspend switch synchronized template this throw throws trait transient true try type
    typedef typename union unsafe unsigned use using val var virtual void volatile when where while yield`),
};

const javascript = {
  ...slashes,
  long: {'`': '`'},
  keywords: words(`
    as async await break case catch class const continue debugger default delete do else enum export extends false finally
    for from function get if implements import in instanceof interface let new null of private protected public readonly
    return set static super switch this throw true try type typeof undefined var void while with yield`),
};

const python = {
  ...none,
  line: ['#'],
  strings: quotes,
  long: {'"""': '"""', "'''": "'''"},
  keywords: words(`
    False None True and as assert async await break case class continue def del elif else except finally for from global
    if import in is lambda match nonlocal not or pass raise return self try while with yield`),
};

// Comments begin with #: shells, Ruby, Perl, Make, CMake.
const scripts = {
  ...none,
  line: ['#'],
  strings: quotes,
  keywords: words(`
    attr_accessor begin case cd declare def do done echo elif else end ensure esac exit export extend false fi for foreach
    function if in include local module my nil our puts readonly require rescue return self set source sub sudo then trap
    true unless unset until use while yield`),
};

const sql = {
  ...none,
  line: ['--'],
  block: {'/*': '*/'},
  strings: quotes,
  ignoreCase: true,
  keywords: words(`
    add all alter and as asc begin between by case check commit create default delete desc distinct drop else end exists
    foreign from full group having in index inner insert into is join key left like limit not null offset on or order
    outer primary references right rollback select set table then union unique update values view when where with`),
};

// Comments begin with --: Lua, Haskell.
const dashes = {
  ...none,
  line: ['--'],
  block: {'--[[': ']]', '{-': '-}'},
  strings: quotes,
  long: {'[[': ']]'},
  keywords: words(`
    and break case class data deriving do else elseif end false for function goto if import in instance let local module
    newtype nil not of or qualified repeat return then true type until where while`),
};

const json = {...none, strings: ['"'], keywords: words('true false null')};
const settings = {...none, line: ['#', ';'], strings: quotes, keywords: words('true false null yes no on off')};
const markup = {...none, block: {'<!--': '-->'}, strings: quotes};
const styles = {...none, block: {'/*': '*/'}, strings: quotes};

const names = [
  [braces, 'c c++ cpp cc h hpp cuda java kotlin swift rust rs go cs csharp scala zig jsonc scss'],
  [javascript, 'js javascript jsx ts tsx typescript mjs'],
  [python, 'py python python3'],
  [scripts, 'sh bash shell zsh console rb ruby perl make makefile cmake dockerfile'],
  [sql, 'sql'],
  [dashes, 'lua haskell hs'],
  [json, 'json'],
  [settings, 'yaml yml toml ini'],
  [markup, 'html xml svg'],
  [styles, 'css'],
];

// By the name behind the fence.
export const languages = new Map(names.flatMap(([language, text]) => text.split(' ').map((name) => [name, language])));
